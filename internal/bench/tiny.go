package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/worlds"
)

// tinyCommand compares plans for tiny random clusters with all others that there are.
func tinyCommand() *cobra.Command {
	var first uint64
	var seeds, steps int
	cmd := &cobra.Command{
		Use:   "tiny",
		Short: "Plan random clusters of a few pods, and compare the plans with all others that there are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if first == 0 {
				first = seedOfClock()
			}
			var all []*worlds.Tiny
			for i := range seeds {
				w, err := worlds.JudgeTiny(first+uint64(i), steps)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.ErrOrStderr(), w)
				all = append(all, w)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Seeds from %d.\n\n%s", first, worlds.TinyTable(all))
			return err
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&first, "seed", 0, "the first `SEED` (default: from the clock)")
	flags.IntVar(&seeds, "seeds", 200, "`NUMBER` of worlds")
	flags.IntVar(&steps, "steps", 50_000, "most `STEPS` to find a better plan; about a second on one core")
	return cmd
}

// seedOfClock returns a first seed that nobody has chosen.
func seedOfClock() uint64 { return uint64(time.Now().Unix()) % 1_000_000 * 1000 }
