package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/worlds"
)

// tinyCommand compares plans for tiny random clusters with all others that there are.
func tinyCommand() *cobra.Command {
	s := &seeds{}
	var steps int
	cmd := &cobra.Command{
		Use:   "tiny",
		Short: "Plan random clusters of a few pods, and compare the plans with all others that there are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all []*worlds.Tiny
			err := s.each(cmd.Context(), func(seed uint64) error {
				w, err := worlds.MeasureTiny(seed, steps)
				if err == nil {
					fmt.Fprintln(cmd.ErrOrStderr(), w)
					all = append(all, w)
				}
				return err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Seeds from %d.\n\n%s", s.first, worlds.TinyTable(all))
			return err
		},
	}
	s.addFlags(cmd)
	cmd.Flags().IntVar(&steps, "steps", 50_000, "try plans for at most this number of `STEPS`, about a second on one core")
	return cmd
}
