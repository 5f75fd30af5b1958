package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/worlds"
)

// worldsCommand plans random clusters, each named by its seed.
func worldsCommand() *cobra.Command {
	var first uint64
	var seeds int
	var atMost time.Duration
	o := worlds.Options{}
	cmd := &cobra.Command{
		Use:   "worlds",
		Short: "Plan random clusters and show the distribution of gaps, prices and times",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if first == 0 {
				first = seedOfClock()
			}
			var all []*worlds.World
			for i, began := 0, time.Now(); i < seeds && (atMost == 0 || time.Since(began) < atMost); i++ {
				w, err := worlds.Judge(cmd.Context(), first+uint64(i), o)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%d: %d pods, %d pools, %d nodes: %.4f $/h (bounds %.4f, %.4f), %d left, %d faults, %d changes, %v\n",
					w.Seed, w.Pods, w.Pools, w.Nodes, w.Price, w.Proven, w.Solved, w.Unplaced, len(w.Faults), len(w.Changes), w.CPU.Round(time.Millisecond))
				all = append(all, w)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "Seeds %d to %d.\n\n%s", first, first+uint64(len(all))-1, worlds.Table(all))
			return err
		},
	}
	flags := cmd.Flags()
	flags.Uint64Var(&first, "seed", 0, "the first `SEED` (default: from the clock)")
	flags.IntVar(&seeds, "seeds", 200, "`NUMBER` of worlds")
	flags.DurationVar(&atMost, "for", 0, "begin no more worlds after this `DURATION` (default: all)")
	flags.IntVar(&o.Pods, "pods", 20_000, "most `PODS` of a world")
	flags.IntVar(&o.PeerPods, "peer-pods", 2000, "ask the peer where there are no more `PODS`")
	flags.DurationVar(&o.Budget, "budget", 0, "effort to spend on a better packing (default: the agent's)")
	return cmd
}
