package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
)

func convertCommand() *cobra.Command {
	var files []string
	output := "yaml"
	cmd := &cobra.Command{
		Use:   "convert -f FILE [FILE ...]",
		Short: "Write NodePools and EC2NodeClasses as Provisioners and AWSNodeTemplates, or as Terraform configuration",
		Long: `convert writes each NodePool as a Provisioner and each EC2NodeClass as an
AWSNodeTemplate, or both as Terraform resources. Comments above each object list
what has no counterpart. Kubelet settings of an EC2NodeClass go to the
Provisioners that use it, so give all files at once. Documents of other kinds, and
NodePools of other controllers, are skipped and named on the standard error.`,
		Example: `  packhorse-agent convert -f nodepool.yaml -f ec2nodeclass.yaml
  kubectl get nodepools,ec2nodeclasses -o yaml | packhorse-agent convert -f - -o hcl > nodes.tf`,
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := converters[output]
			if !ok {
				return fmt.Errorf("output %q is not known: use yaml or hcl", output)
			}
			if files = append(files, args...); len(files) == 0 {
				return errors.New("nothing to convert: name files with -f")
			}
			set, err := manifest.Read(files...)
			if err != nil {
				return err
			}
			return convertSet(set, write, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`FILE` with manifests; may be repeated; \"-\" is the standard input")
	cmd.Flags().StringVarP(&output, "output", "o", output, "yaml or hcl")
	return cmd
}

// convertSet writes what can be converted, and names the rest.
func convertSet(set *manifest.Set, write converter, out, skipped io.Writer) error {
	for _, f := range set.Files {
		if len(f.Documents) == 0 && !f.List {
			return f.Nothing(func(*manifest.Document) bool { return false }, "NodePools or EC2NodeClasses")
		}
	}
	var documents []map[string]any
	ignored := map[string]finding.List{}
	for _, d := range set.Documents {
		if d.Provisioner == nil && d.NodeTemplate == nil || d.Karpenter == nil {
			if _, err := fmt.Fprintf(skipped, "skipped %s: %s\n", d.Object(), whySkipped(d)); err != nil {
				return err
			}
			continue
		}
		documents = append(documents, d.Karpenter)
		ignored[d.Kind+" "+d.Name] = d.Ignored
	}
	objects, err := karpenter.Convert(documents, nil)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("there is neither a NodePool nor an EC2NodeClass to convert")
	}
	profiles := map[string]bool{}
	for _, o := range objects {
		profiles[o.Name] = profiles[o.Name] || o.Kind == api.NodeTemplateKind
	}
	for i := range objects {
		o := &objects[i]
		kind, _, _ := strings.Cut(o.Origin, " ")
		o.Losses = lossesOf(o, ignored[kind+" "+o.Name])
		text, err := write(o, profiles)
		if err != nil {
			return fmt.Errorf("write %s: %w", o.Origin, err)
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// lossesOf adds to the losses the unknown fields of the object. A field that is both gets the text
// that names the nearest known field.
func lossesOf(o *karpenter.Object, ignored finding.List) finding.List {
	out := slices.DeleteFunc(slices.Clone(o.Losses), func(loss finding.Finding) bool {
		return slices.ContainsFunc(ignored, func(f finding.Finding) bool { return loss.Path == f.Path })
	})
	out = append(out, ignored...)
	slices.SortFunc(out, func(a, b finding.Finding) int { return strings.Compare(a.Error(), b.Error()) })
	return slices.CompactFunc(out, func(a, b finding.Finding) bool { return a.Error() == b.Error() })
}

func whySkipped(d *manifest.Document) string {
	switch {
	case d.Provisioner != nil || d.NodeTemplate != nil:
		return "it is in Packhorse's own form already"
	case d.Karpenter != nil:
		return "its nodes are those of " + karpenter.Foreign(d.Karpenter) + ", which Packhorse does not serve"
	}
	return "it is neither a NodePool nor an EC2NodeClass"
}

// converter writes an object as text. Profiles are the names of the node profiles that
// are written too.
type converter func(o *karpenter.Object, profiles map[string]bool) (string, error)

var converters = map[string]converter{"yaml": asYAML, "hcl": asHCL}

// above writes what a conversion is of, and its losses, as comments.
func above(o *karpenter.Object) string {
	var text strings.Builder
	text.WriteString("# From " + o.Origin + ".\n")
	for _, loss := range o.Losses.Lines() {
		text.WriteString("# Lost: " + strings.ReplaceAll(loss, "\n", " ") + "\n")
	}
	return text.String()
}

func asYAML(o *karpenter.Object, _ map[string]bool) (string, error) {
	text, err := yaml.Marshal(o.Manifest())
	return "---\n" + above(o) + string(text), err
}

func asHCL(o *karpenter.Object, profiles map[string]bool) (string, error) {
	resource, typ := "packhorse_provisioner", reflect.TypeFor[api.ProvisionerSpec]()
	if o.Kind == api.NodeTemplateKind {
		resource, typ = "packhorse_node_profile", reflect.TypeFor[api.NodeProfile]()
	}
	spec := maps.Clone(o.Spec)
	if ref, ok := spec["providerRef"].(map[string]any); ok {
		if name, _ := ref["name"].(string); profiles[name] {
			spec["providerRef"] = map[string]any{"name": terraform.Raw("packhorse_node_profile." + terraform.Identifier(name) + ".name")}
		}
	}
	arguments := append([]terraform.Argument{{Name: "name", Value: o.Name}}, terraform.Arguments(spec, typ)...)
	block := terraform.Block(fmt.Sprintf("resource %q %q", resource, terraform.Identifier(o.Name)), arguments)
	text, err := terraform.Format(o.Name, above(o)+block)
	return string(text) + "\n", err
}
