package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
)

func catalogueCommand() *cobra.Command {
	var region string
	cmd := &cobra.Command{
		Use:   "catalogue",
		Short: "Print the instance types that a region sells, with prices, for use offline",
		Long: `catalogue asks AWS which instance types a region sells, in which zones and at
which prices, and prints the answer as JSON. It is what simulate takes with
--catalogue and the provider with catalogue_file, where AWS cannot be asked. It
needs ec2:Describe* and pricing:GetProducts, and no cluster.`,
		Example: `  packhorse-agent catalogue --region eu-west-1 > catalogue.json
  packhorse-agent simulate --catalogue catalogue.json --region eu-west-1 -f workload.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printCatalogue(cmd.Context(), region, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&region, "region", "", "AWS `REGION` (default: the environment's)")
	return cmd
}

func printCatalogue(ctx context.Context, region string, out io.Writer) error {
	cfg, err := aws.LoadConfig(ctx, region)
	if err != nil {
		return err
	}
	catalogue, err := aws.ReadCatalogue(ctx, cfg)
	if err != nil {
		return err
	}
	return catalogue.WriteJSON(out)
}
