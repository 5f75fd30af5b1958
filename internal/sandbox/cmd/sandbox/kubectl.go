package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

func newKubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl",
		Short: "Run kubectl against the sandbox",
		Long: `kubectl passes all its arguments on to the kubectl that is part of the control plane
binary, of the same version as the API server. It goes by KUBECONFIG, which the env
file of ` + "`sandbox up`" + ` sets.`,
		Example:            "  source state/env\n  sandbox kubectl get pods -A -o wide",
		DisableFlagParsing: true,
		RunE: func(command *cobra.Command, args []string) error {
			binary, err := plane.FindBinary("")
			if err != nil {
				return err
			}
			kubectl := exec.CommandContext(command.Context(), binary, append([]string{"kubectl"}, args...)...)
			kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = os.Stdin, command.OutOrStdout(), command.ErrOrStderr()
			err = kubectl.Run()
			if err != nil {
				// It has said why itself.
				return fmt.Errorf("run kubectl: %w", err)
			}
			return nil
		},
	}
}
