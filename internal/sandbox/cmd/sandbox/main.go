// Command sandbox runs a Kubernetes cluster on AWS on this machine, for people:
// see `sandbox --help`.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "sandbox",
		Short: "A Kubernetes cluster on AWS, on this machine",
		Long: `sandbox runs what Packhorse needs to be tried, without a cluster, an AWS account or
containers:

  - a real Kubernetes control plane: etcd, API server, scheduler, controllers;
  - AWS endpoints (EC2, IAM, STS, EKS, SSM, Pricing, SQS) for unmodified AWS clients;
  - simulated machines: an instance that is launched there boots, reads its user
    data, and joins the cluster as a node whose pods run.

Everything listens on loopback and is gone after Ctrl-C.`,
		Example: `  sandbox up --dir state              # in one terminal; prints how to reach it
  source state/env                    # in another one
  sandbox kubectl get nodes
  aws ec2 describe-instances          # any AWS client will do
  curl $PACKHORSE_SANDBOX_CONTROL/kubelets   # why is that node not up?`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.AddCommand(newUpCommand(), newKubectlCommand())
	return command
}
