package main

import (
	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
)

func manifestsCommand() *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "manifests",
		Short: "Print the access rights that the agent needs in the cluster",
		Long: `manifests prints a namespace, a ServiceAccount, and roles with exactly the verbs
that the agent uses, as YAML for kubectl apply.`,
		Example: `  packhorse-agent manifests --namespace packhorse | kubectl apply -f -`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, err := agent.Manifests(namespace)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(out)
			return err
		},
	}
	cmd.Flags().StringVar(&namespace, "namespace", defaultNamespace, "`NAMESPACE` of the ServiceAccount and the lease")
	return cmd
}
