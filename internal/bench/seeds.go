package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// seeds are those of a run of random clusters.
type seeds struct {
	first  uint64
	number int
	atMost time.Duration
}

// addFlags makes the seeds options of a command.
func (s *seeds) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Uint64Var(&s.first, "seed", 0, "the first `SEED` (default: from the clock)")
	flags.IntVar(&s.number, "seeds", 200, "`NUMBER` of worlds")
	flags.DurationVar(&s.atMost, "for", 0, "begin no more worlds after this `DURATION` (default: all)")
}

// each calls measure with one seed after the other until the time is over. An interruption is
// an error.
func (s *seeds) each(ctx context.Context, measure func(seed uint64) error) error {
	began := time.Now()
	if s.first == 0 {
		s.first = uint64(began.Unix()) % 1_000_000 * 1000
	}
	for i := 0; i < s.number && (s.atMost == 0 || time.Since(began) < s.atMost); i++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted after %d of %d worlds: %w", i, s.number, err)
		}
		if err := measure(s.first + uint64(i)); err != nil {
			return err
		}
	}
	return nil
}
