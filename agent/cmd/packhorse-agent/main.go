// Command packhorse-agent gives a cluster the nodes that it needs, and says offline what it
// would do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // where the image has no certificates
)

// version is set by the linker.
var version = "dev"

func main() {
	err := rootCommand().ExecuteContext(context.Background())
	if err == nil {
		return
	}
	if _, logged := errors.AsType[loggedError](err); !logged && !errors.Is(err, errFindings) {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	os.Exit(1)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "packhorse-agent",
		Short: "Buy the nodes that pending pods need, and remove nodes that are not needed",
		Long: `packhorse-agent watches a cluster for pods that kube-scheduler has marked
unschedulable, chooses machines for them, launches the machines, creates their
nodes and binds the pods. It removes nodes that are no longer needed.
Provisioners (karpenter.sh/v1alpha5) and node profiles (karpenter.k8s.aws/v1alpha1
AWSNodeTemplate) say what it may buy.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(interruptible(runCommand(), topCommand(), importCommand(), takeoverCommand(), handbackCommand(), catalogueCommand())...)
	root.AddCommand(simulateCommand(), validateCommand(), convertCommand(), manifestsCommand(), versionCommand())
	return root
}

// interruptible lets commands finish what they are doing on Ctrl-C and SIGTERM, which end
// their context. The other commands do not look at it, and have nothing to finish: the signals
// end them at once.
func interruptible(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			cmd.SetContext(ctx)
			return run(cmd, args)
		}
	}
	return commands
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}
