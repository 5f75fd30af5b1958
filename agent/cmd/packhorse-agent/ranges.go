package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// prepare completes the flags from the environment and checks them.
func prepare(cmd *cobra.Command, _ []string) error {
	return cmp.Or(fromEnvironment(cmd.Flags()), checkRanges(cmd.Flags()))
}

// checkRanges returns an error for the first flag, by name, that makes no sense.
func checkRanges(flags *pflag.FlagSet) error {
	var err error
	flags.VisitAll(func(f *pflag.Flag) {
		if wrong := install.Nonsense(f.Name, f.Value.String()); wrong != "" && err == nil {
			err = fmt.Errorf("--%s is %s: %s", f.Name, f.Value, wrong)
		}
	})
	idle, most := flags.Lookup("batch-idle"), flags.Lookup("batch-max")
	if err != nil || idle == nil || most == nil {
		return err
	}
	if wrong := install.NonsenseBatch(idle.Value.String(), most.Value.String()); wrong != "" {
		return fmt.Errorf("--batch-max is %s: %s", most.Value, wrong)
	}
	return nil
}
