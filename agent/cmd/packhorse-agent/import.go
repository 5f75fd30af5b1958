package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/assets"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
)

// importOptions holds the flags of `import`.
type importOptions struct {
	out             string
	only            []string
	cluster, region string
	access          clusterAccess
}

func importCommand() *cobra.Command {
	o := &importOptions{}
	cmd := &cobra.Command{
		Use:   "import --cluster-name NAME --out DIR",
		Short: "Write a running cluster's node provisioning as Terraform configuration with import blocks",
		Long: `import finds what provisions nodes in a cluster and writes it as Terraform
configuration into a folder:

  - Provisioners, AWSNodeTemplates, the IAM roles of ServiceAccounts and of nodes,
    and interruption queues get import blocks, so that "terraform plan" shows
    imports and no change.
  - NodePools and EC2NodeClasses (converted), managed node groups, groups of the
    Cluster Autoscaler, and objects that an import would change become suggestions,
    which are commented out.

import names what has no counterpart, and what AWS does not let it read. It changes
nothing in the cluster or in AWS, reads only what --only needs, and overwrites no
file.`,
		Example: `  packhorse-agent import --cluster-name prod --out prod
  cd prod && terraform init && terraform plan
  packhorse-agent import --cluster-name prod --out roles --only irsa_role,node_role`,
		Args:    cobra.NoArgs,
		PreRunE: prepare,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.out, "out", "", "`FOLDER` to write into (required)")
	flags.StringSliceVar(&o.only, "only", nil, "`TYPE` of resource to write, such as provisioner or node_profile; may be repeated (default: all)")
	flags.StringVar(&o.cluster, "cluster-name", "", "`NAME` of the EKS cluster (required)")
	flags.StringVar(&o.region, "region", "", "AWS `REGION` (default: the environment's)")
	o.access.addFlags(flags, "$KUBECONFIG")
	return cmd
}

func (o *importOptions) run(ctx context.Context, out io.Writer) error {
	if o.out == "" || o.cluster == "" {
		return errors.New("--out and --cluster-name are required")
	}
	if err := onboard.CheckTypes(o.only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	cfg, err := aws.LoadConfig(ctx, o.region)
	if err != nil {
		return err
	}
	access, err := o.access.config()
	if err != nil {
		return err
	}
	cluster, err := survey.NewCluster(access)
	if err != nil {
		return err
	}
	found, err := onboard.Find(ctx, o.cluster, cluster, assets.New(cfg), o.only...)
	if err != nil {
		return fmt.Errorf("look at cluster %s: %w", o.cluster, err)
	}
	files, err := onboard.Files(found)
	if err != nil {
		return err
	}
	if err := onboard.Write(o.out, files); err != nil {
		return err
	}
	return o.summarise(out, found, slices.Sorted(maps.Keys(files)))
}

// summarise tells what was found and where it is written.
func (o *importOptions) summarise(out io.Writer, found *onboard.Found, files []string) error {
	imports, notes, items := 0, len(found.Denied), found.Items
	for _, item := range items {
		if item.ImportID != "" {
			imports++
		}
		notes += len(item.Notes)
	}
	_, err := fmt.Fprintf(out, "Found %s: %d to import and %s. The files contain %s on what to check.\n",
		explain.Plural(len(items), "object"), imports, explain.Plural(len(items)-imports, "suggestion"), explain.Plural(notes, "note"))
	for _, left := range found.Denied {
		if err == nil {
			_, err = fmt.Fprintln(out, "Left out, because AWS denies a permission:", left)
		}
	}
	for _, name := range files {
		if err == nil {
			_, err = fmt.Fprintln(out, filepath.Join(o.out, name))
		}
	}
	return err
}
