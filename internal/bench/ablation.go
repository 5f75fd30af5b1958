package main

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ablation"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// ablationFlags hold the flags of `ablation`.
type ablationFlags struct {
	cases, without string
	seed           uint64
	worlds         int
	rowPods, pods  int
	selectors      int
	atMost         time.Duration
}

// ablationCommand leaves heuristics out, one at a time.
func ablationCommand() *cobra.Command {
	f := &ablationFlags{}
	cmd := &cobra.Command{
		Use:   "ablation",
		Short: "Plan without each heuristic of the core in turn and show what it is worth",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			heuristics, err := matching(f.without)
			if err != nil {
				return err
			}
			subjects, err := f.subjects()
			if err != nil {
				return err
			}
			var rows []*ablation.Row
			for i, began := 0, time.Now(); i < len(subjects) && (f.atMost == 0 || time.Since(began) < f.atMost); i++ {
				if err := cmd.Context().Err(); err != nil {
					return fmt.Errorf("interrupted after %d of %d rows and worlds: %w", i, len(subjects), err)
				}
				row, err := ablation.Measure(subjects[i], heuristics)
				if err != nil {
					return err
				}
				rows = append(rows, row)
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %.4f $/h, %v\n", row.Subject, row.Whole.Price, row.Whole.CPU.Round(time.Millisecond))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d rows and worlds, the latter from seed %d.\n\n%s", len(rows), len(subjects), f.seed, ablation.Table(rows, heuristics))
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cases, "cases", "", "`REGEXP` that the names of the rows match (default: all)")
	flags.StringVar(&f.without, "without", "", "`REGEXP` that the names of the heuristics match (default: all)")
	flags.Uint64Var(&f.seed, "seed", 1, "`SEED` of the first world")
	flags.IntVar(&f.worlds, "worlds", 50, "`NUMBER` of worlds")
	flags.IntVar(&f.rowPods, "row-pods", 20_000, "most `PODS` of a row")
	flags.IntVar(&f.pods, "pods", 4000, "most `PODS` of a world")
	flags.IntVar(&f.selectors, "selectors", 0, "so many `PODS` with selectors of many kinds in place of each world")
	flags.DurationVar(&f.atMost, "for", 0, "begin no more rows and worlds after this `DURATION` (default: all)")
	return cmd
}

// matching lists the heuristics of which the names match.
func matching(expression string) ([]pack.Heuristic, error) {
	wanted, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("read --without: %w", err)
	}
	var out []pack.Heuristic
	for _, h := range pack.Heuristics() {
		if wanted.MatchString(string(h)) {
			out = append(out, h)
		}
	}
	return out, nil
}

// subjects lists rows and worlds.
func (f *ablationFlags) subjects() ([]ablation.Subject, error) {
	wanted, err := regexp.Compile(f.cases)
	if err != nil {
		return nil, fmt.Errorf("read --cases: %w", err)
	}
	var out []ablation.Subject
	for i := range suite.Cases {
		if c := &suite.Cases[i]; wanted.MatchString(c.Name) && c.Pods <= f.rowPods {
			out = append(out, ablation.Subject{Name: c.Name, Generate: func() *workload.Workload { return c.Generate(c.Pods) }})
		}
	}
	for i := range f.worlds {
		seed := f.seed + uint64(i)
		out = append(out, ablation.Subject{Name: fmt.Sprint(seed), Generate: func() *workload.Workload { return f.world(seed) }})
	}
	return out, nil
}

// world returns the random workload of a seed.
func (f *ablationFlags) world(seed uint64) *workload.Workload {
	if f.selectors > 0 {
		return workload.DrawnSelectors(seed, f.selectors)
	}
	return workload.World(seed, f.pods)
}
