package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
)

// upFlags are the flags of `sandbox up`.
type upFlags struct {
	options   sandbox.Options
	catalogue string
	verbose   bool
}

func newUpCommand() *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a sandbox and keep it until Ctrl-C",
		Long: `up starts a sandbox, which takes a few seconds, and prints the variables by which
kubectl, Terraform and AWS clients reach it. They are also written to the file env
in the state folder, for other terminals. Logs of the components are in its folder
logs.

Nodes appear when instances are launched through EC2, after the boot delay. A node
whose user data is wrong does not come up: the control endpoint says why.`,
		Example: `  sandbox up
  sandbox up --dir state --cluster-name prod --region us-east-1
  sandbox up --boot-delay 45s --memory-overhead 0.075    # closer to real machines`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return up(command.Context(), flags, command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	set := command.Flags()
	o := &flags.options
	set.StringVar(&o.Dir, "dir", "", "state folder (a temporary one, removed at the end, if empty)")
	set.BoolVar(&o.Keep, "keep", false, "leave the temporary state folder behind, to read logs")
	set.StringVar(&o.ControlPlane, "control-plane", "", "control plane binary (default $PACKHORSE_CONTROLPLANE, else bin/controlplane here or above)")
	set.StringVar(&o.ClusterName, "cluster-name", "packhorse-demo", "name of the EKS cluster")
	set.StringVar(&o.Region, "region", "eu-west-1", "AWS region")
	set.DurationVar(&o.BootDelay, "boot-delay", 3*time.Second, "from an instance's launch to its kubelet's first request")
	set.Float64Var(&o.MemoryOverhead, "memory-overhead", 0.06, "share of a machine's memory that its kubelet does not see")
	set.StringVar(&flags.catalogue, "catalogue", "", "CSV file of instance types (default the one that is built in)")
	set.IntVar(&o.APIServerPort, "port", 0, "port of the API server (0: a free one)")
	set.IntVar(&o.AWSPort, "aws-port", 0, "port of the AWS endpoints (0: a free one)")
	set.IntVar(&o.ControlPort, "control-port", 0, "port of the control endpoint (0: a free one)")
	set.BoolVarP(&flags.verbose, "verbose", "v", false, "tell what happens to instances and nodes")
	return command
}

// up starts a sandbox and keeps it until ctx ends or a component dies. Progress and
// logs go to errOut, so that out holds nothing but shell commands.
func up(ctx context.Context, flags upFlags, out, errOut io.Writer) (err error) {
	o := flags.options
	if flags.catalogue != "" {
		if o.Catalogue, err = os.ReadFile(flags.catalogue); err != nil {
			return fmt.Errorf("read catalogue: %w", err)
		}
	}
	say := newTeller(errOut)
	o.Progress = say.done
	o.Logger = newLogger(errOut, flags.verbose)

	box, err := sandbox.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Stop()) }()

	exports := exportLines(box.Env())
	envFile := filepath.Join(box.Dir, "env")
	if err := os.WriteFile(envFile, []byte(exports), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", envFile, err)
	}
	fmt.Fprint(out, exports)
	say.note("Ready. In another terminal: source " + envFile)
	say.note("Logs: " + filepath.Join(box.Dir, "logs") + "   Ctrl-C stops it.")

	select {
	case <-ctx.Done():
		say.note("Stopping.")
		return nil
	case <-box.Died():
		return box.Err()
	}
}

// exportLines turns NAME=value pairs into shell commands.
func exportLines(env []string) string {
	var lines strings.Builder
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&lines, "export %s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
	}
	return lines.String()
}

func newLogger(w io.Writer, verbose bool) hclog.Logger {
	level := hclog.Warn
	if verbose {
		level = hclog.Info
	}
	colour := hclog.ColorOff
	if isTerminal(w) {
		colour = hclog.ForceColor
	}
	return hclog.New(&hclog.LoggerOptions{Name: "sandbox", Level: level, Output: w, Color: colour})
}
