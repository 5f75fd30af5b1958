package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/worlds"
)

// worldsCommand plans random clusters, each named by its seed.
func worldsCommand() *cobra.Command {
	s := &seeds{}
	o := worlds.Options{}
	cmd := &cobra.Command{
		Use:   "worlds",
		Short: "Plan random clusters and show the distribution of gaps, prices and times",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []*worlds.World
			err := s.each(cmd.Context(), func(seed uint64) error {
				w, err := worlds.Measure(cmd.Context(), seed, o)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "%d: %d pods, %d pools, %d nodes: %.4f $/h (bounds %.4f, %.4f), %d left, %d faults, %d changes, %v\n",
					w.Seed, w.Pods, w.Pools, w.Nodes, w.Price, w.Proven, w.Solved, w.Unplaced, len(w.Faults), len(w.Changes), w.CPU.Round(time.Millisecond))
				all = append(all, w)
				return nil
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Seeds %d to %d.\n\n%s", s.first, s.first+uint64(len(all))-1, worlds.Table(all))
			return err
		},
	}
	s.addFlags(cmd)
	flags := cmd.Flags()
	flags.IntVar(&o.Pods, "pods", 20_000, "most `PODS` of a world")
	flags.IntVar(&o.Selectors, "selectors", 0, "plan this number of `PODS` with selectors of many kinds instead of random clusters")
	flags.IntVar(&o.PeerPods, "peer-pods", 2000, "ask the peer where there are no more `PODS`")
	flags.DurationVar(&o.Budget, "budget", 0, "effort to spend on a better packing (default: the agent's)")
	return cmd
}
