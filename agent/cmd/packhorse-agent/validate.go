package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// errFindings ends the command with status 1 when the findings are printed already.
var errFindings = errors.New("the manifests have findings")

func validateCommand() *cobra.Command {
	var files []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "validate -f FILE [FILE ...]",
		Short: "Check Provisioners, node profiles, NodePools and EC2NodeClasses by every rule of their API",
		Long: `validate prints one line per finding, with file, line, document, path, reason and
what would be right, and at the end what it has checked. It exits with 1 if a rule
is broken, or if a file holds nothing that can be checked. NodePools and
EC2NodeClasses are checked by the validation rules of Karpenter's CRDs, those of
v1beta1 by their fields and types only. Fields that Packhorse does not support
are warnings. Warnings, which include unknown fields, do not change the exit
status. With -v it also prints the defaults that would be added.`,
		Example: `  packhorse-agent validate -f provisioner.yaml
  packhorse-agent validate -v -f clusters/prod/*.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files = append(files, args...)
			if len(files) == 0 {
				return errors.New("nothing to validate: name files with -f")
			}
			set, err := manifest.Read(files...)
			return validated(set, err).print(cmd.OutOrStdout(), verbose)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`FILE` with manifests; may be repeated; \"-\" is the standard input")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print the defaults that would be added")
	return cmd
}

// validation is what there is to say about some files.
type validation struct {
	checked  []*manifest.Document
	problems []error
	warnings []string
}

// validated checks what was read. Err is of what could not be read.
func validated(set *manifest.Set, err error) *validation {
	out := &validation{problems: manifest.Problems(err)}
	for _, d := range set.Documents {
		if !ours(d) {
			continue
		}
		out.checked = append(out.checked, d)
		found := slices.Concat(d.Ignored, findings(d))
		for _, e := range placed(d, found.Errors()) {
			out.problems = append(out.problems, e)
		}
		for _, w := range placed(d, found.Warnings()) {
			out.warnings = append(out.warnings, w.Error())
		}
	}
	for _, f := range set.Files {
		if err := f.Nothing(ours, "a Provisioner, an AWSNodeTemplate, a NodePool or an EC2NodeClass"); err != nil {
			out.problems = append(out.problems, err)
		} else {
			out.warnings = append(out.warnings, f.Others(ours)...)
		}
	}
	return out
}

// placed gives findings their places, in the order of the lines.
func placed(d *manifest.Document, found finding.List) []*manifest.Error {
	var out []*manifest.Error
	for _, f := range found {
		out = append(out, d.At(f))
	}
	slices.SortStableFunc(out, func(a, b *manifest.Error) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

// ours reports whether a document is of a kind that validate checks.
func ours(d *manifest.Document) bool {
	return d.Kind == api.ProvisionerKind || d.Kind == api.NodeTemplateKind || d.Karpenter != nil
}

func findings(d *manifest.Document) finding.List {
	switch {
	case d.Karpenter != nil && d.Provisioner != nil: // its rules are checked when it is read
		return slices.Concat(validate.Provisioner(d.Provisioner).Warnings(), unknownValues(d.Provisioner))
	case d.Karpenter != nil:
		return nil
	case d.Provisioner != nil:
		return slices.Concat(validate.Provisioner(d.Provisioner), unknownValues(d.Provisioner))
	case d.NodeTemplate != nil:
		return validate.NodeTemplate(d.NodeTemplate)
	}
	return nil // it could not be read, which is a problem of its own
}

// unknownValues are warnings, since AWS may sell machines that are newer than the catalogue.
func unknownValues(p *api.Provisioner) finding.List {
	var out finding.List
	for _, f := range plancheck.UnknownValues(p, offer.Embedded(), "") {
		f.Severity = finding.Warning
		out = append(out, f.Moved(p.Source.PathOf))
	}
	return out
}

func (v *validation) print(out io.Writer, verbose bool) error {
	var text []byte
	for _, p := range v.problems {
		text = fmt.Appendln(text, p)
	}
	for _, w := range v.warnings {
		text = fmt.Appendf(text, "warning: %s\n", w)
	}
	for _, d := range v.checked {
		if !verbose || d.Provisioner == nil {
			continue
		}
		defaulted, err := yaml.Marshal(d.Provisioner.Defaulted().Spec)
		if err != nil {
			return fmt.Errorf("render the defaults of %s: %w", d.Object(), err)
		}
		text = fmt.Appendf(text, "# %s with its defaults\n%s", d.Object(), defaulted)
	}
	text = fmt.Appendf(text, "checked %s: %s, %s\n", explain.Plural(len(v.checked), "object"), explain.Plural(len(v.problems), "error"), explain.Plural(len(v.warnings), "warning"))
	if _, err := out.Write(text); err != nil {
		return err
	}
	if len(v.problems) > 0 {
		return errFindings
	}
	return nil
}
