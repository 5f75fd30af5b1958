package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
)

// errFindings ends the command with status 1 when the findings are printed already.
var errFindings = errors.New("the manifests have findings")

func validateCommand() *cobra.Command {
	var files []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "validate -f FILE [FILE ...]",
		Short: "Check Provisioners and node profiles by every rule of the API",
		Long: `validate prints one line per finding, with file, line, document, path and
reason, and exits with 1. It is silent and exits with 0 when all is well.
With -v it also prints warnings, and the defaults that would be added.`,
		Example: `  packhorse-agent validate -f provisioner.yaml
  packhorse-agent validate -v -f clusters/prod/*.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files = append(files, args...)
			if len(files) == 0 {
				return errors.New("nothing to validate: name files with -f")
			}
			set, err := manifest.Read(files...)
			return report(cmd.OutOrStdout(), set, manifest.Problems(err), verbose)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`FILE` with manifests; may be repeated; \"-\" is the standard input")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print warnings and the defaults that would be added")
	return cmd
}

func report(out io.Writer, set *manifest.Set, problems []error, verbose bool) error {
	for _, d := range set.Documents {
		for _, e := range findings(d) {
			problems = append(problems, d.At(e.Error()))
		}
	}
	for _, p := range problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	if verbose {
		if err := elaborate(out, set); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return errFindings
	}
	return nil
}

func findings(d *manifest.Document) field.ErrorList {
	switch {
	case d.Provisioner != nil:
		return api.ValidateProvisioner(d.Provisioner)
	case d.NodeTemplate != nil:
		return api.ValidateNodeTemplate(d.NodeTemplate)
	}
	return nil
}

// elaborate prints warnings, and each Provisioner with its defaults.
func elaborate(out io.Writer, set *manifest.Set) error {
	for _, d := range set.Documents {
		warnings := d.Warnings
		if d.Provisioner != nil {
			warnings = append(warnings, api.WarnProvisioner(d.Provisioner)...)
		}
		for _, w := range warnings {
			if _, err := fmt.Fprintf(out, "warning: %v\n", d.At(w)); err != nil {
				return err
			}
		}
		if d.Provisioner == nil {
			continue
		}
		text, err := yaml.Marshal(d.Provisioner.Defaulted().Spec)
		if err != nil {
			return fmt.Errorf("render the defaults of %s: %w", d.Object(), err)
		}
		if _, err := fmt.Fprintf(out, "# %s with its defaults\n%s", d.Object(), text); err != nil {
			return err
		}
	}
	return nil
}
