package main

import (
	"strings"
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
