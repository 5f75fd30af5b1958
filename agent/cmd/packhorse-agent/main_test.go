package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("PACKHORSE_BATCH_IDLE", "2s")
	t.Setenv("PACKHORSE_CLUSTER_NAME", "from-environment")
	t.Setenv("PACKHORSE_SCHEDULER_NAME", "a,b")
	s := &settings{}
	cmd := runCommand()
	cmd.ResetFlags()
	s.flags(cmd)
	if err := cmd.Flags().Parse([]string{"--cluster-name", "from-flag"}); err != nil {
		t.Fatal(err)
	}
	if err := fromEnvironment(cmd.Flags()); err != nil {
		t.Fatal(err)
	}
	if s.agent.BatchIdle != 2*time.Second {
		t.Errorf("batch idle %s, want that of the environment", s.agent.BatchIdle)
	}
	if s.cloud.ClusterName != "from-flag" {
		t.Errorf("cluster name %q, want that of the flag", s.cloud.ClusterName)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.schedulers); diff != "" {
		t.Errorf("schedulers -want +got:\n%s", diff)
	}
}

func TestRunRefuses(t *testing.T) {
	cases := map[string]struct {
		args []string
		env  map[string]string
		want string
	}{
		"no cluster":           {want: "--cluster-name is missing"},
		"an unknown level":     {args: []string{"--cluster-name", "x", "--log-level", "loud"}, want: `--log-level "loud"`},
		"an unknown format":    {args: []string{"--cluster-name", "x", "--log-format", "xml"}, want: `--log-format "xml"`},
		"no such kubeconfig":   {args: []string{"--cluster-name", "x", "--kubeconfig", "absent"}, want: "find the cluster"},
		"an empty kubeconfig":  {args: []string{"--cluster-name", "x", "--kubeconfig", file(t, "config", "")}, want: "names no cluster; save it again"},
		"a bad variable":       {env: map[string]string{"PACKHORSE_BATCH_MAX": "long"}, want: "read PACKHORSE_BATCH_MAX"},
		"an argument too many": {args: []string{"now"}, want: "unknown command"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			_, err := execute(t, rootCommand(), append([]string{"run"}, c.args...)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestCommands(t *testing.T) {
	for args, want := range map[string]string{
		"version": version + "\n",
		"manifests --cluster-name prod --namespace corral": "name: corral\n",
		"--help": "Available Commands:",
	} {
		out, err := execute(t, rootCommand(), strings.Fields(args)...)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %v and %q, want %q", args, err, out, want)
		}
	}
}

// TestInterrupt: Ctrl-C ends a command that works from files, whatever it is doing.
func TestInterrupt(t *testing.T) {
	const interrupted = "PACKHORSE_TEST_INTERRUPTED"
	if os.Getenv(interrupted) != "" { // this is the process that the test starts
		os.Args = []string{"packhorse-agent", "validate", "-f", "-"}
		main()
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // kills a process that goes on
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestInterrupt$")
	cmd.Env = append(os.Environ(), interrupted+"=yes")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// This is more than a pipe holds, so that the command is reading when all is written.
	if _, err := in.Write(bytes.Repeat([]byte("# more is to come\n"), 1<<16)); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	err = cmd.Wait()
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("the command ended with %v, want the signal", err)
	}
	if status, _ := ended.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGINT {
		t.Errorf("the command ended with %v, want %v", err, syscall.SIGINT)
	}
}
