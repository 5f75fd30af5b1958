package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/controlplane/stages"
)

// applets maps the name of each applet to the function that runs it to its end
// and returns its exit code. Commands are made only when they are run: their
// constructors register flags and metrics globally.
func applets() map[string]func() int {
	return map[string]func() int{
		"etcd": func() int {
			etcdmain.Main(os.Args)
			return 0
		},
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
		"kubectl": func() int {
			forgetGlobalFlags()
			return cli.Run(kubectl.NewDefaultKubectlCommand())
		},
		"kwok": runKwok,
		"kwok-stages": func() int {
			fmt.Print(stages.Configuration())
			return 0
		},
	}
}

// forgetGlobalFlags empties the process-wide flag set. Importing component-base
// puts a --version flag of its own type there, cobra merges that set into every
// root command, and commands that were written without it (kwok has a boolean
// --version) then die on the wrong type.
func forgetGlobalFlags() {
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
}

// runKwok starts kwok's command, whose flags partly come from its configuration
// and therefore have to be parsed before the command is made.
func runKwok() int {
	forgetGlobalFlags()
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}

	ctx, logger := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), global)
	ctx, err := kwokconfig.InitFlags(ctx, global)
	if err != nil {
		logger.Error("Configuration was not read", "err", err)
		return 1
	}
	if err := stages.Prepare(ctx); err != nil {
		logger.Error("Stages were not prepared", "err", err)
		return 1
	}
	command := kwokcmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("kwok stopped", "err", err)
		return 1
	}
	return 0
}
