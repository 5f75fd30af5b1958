package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
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

// An agent that starts while EKS fails goes on to Kubernetes, because nodes are drained without EKS. If EKS denies the
// request or knows no such cluster, it ends.
func TestStartWhileEKSFails(t *testing.T) {
	for code, c := range map[string]struct {
		status int
		want   string // part of the error; empty: the agent starts
	}{
		"ServerException":           {status: http.StatusServiceUnavailable},
		"AccessDeniedException":     {status: http.StatusForbidden, want: "AccessDeniedException"},
		"ResourceNotFoundException": {status: http.StatusNotFound, want: "no such EKS cluster"},
	} {
		t.Run(code, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var asked atomic.Bool
			eks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Store(true)
				w.Header().Set("X-Amzn-Errortype", code)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte("{}"))
			}))
			defer eks.Close()
			kubernetes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Load() {
					stop()
				}
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			defer kubernetes.Close()
			toAWS(t, eks.URL)
			access := kubeconfig(t, kubernetes.URL, nil)
			cmd := runCommand()
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			cmd.SetArgs([]string{"--cluster-name", "prod", "--kubeconfig", access, "--metrics-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0", "--status-address", ""})
			err := cmd.ExecuteContext(ctx)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the agent ended with %v, want %q", err, c.want)
			}
		})
	}
}

// What changes machines refuses to work with an API server that is not that of the EKS cluster.
func TestAnotherAPIServer(t *testing.T) {
	eks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("of the cluster")})
		_, _ = fmt.Fprintf(w, `{"cluster": {"name": "prod", "endpoint": "https://prod", "certificateAuthority": {"data": %q}, "identity": {"oidc": {"issuer": "https://eks/id/PROD"}}}}`,
			base64.StdEncoding.EncodeToString(ca))
	}))
	defer eks.Close()
	kubernetes := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer": "https://eks/id/TEST"}`))
	}))
	defer kubernetes.Close()
	toAWS(t, eks.URL)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: kubernetes.Certificate().Raw})
	access := kubeconfig(t, kubernetes.URL, ca)
	for name, cmd := range map[string]*cobra.Command{"run": runCommand(), "handback": handbackCommand()} {
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs([]string{"--cluster-name", "prod", "--kubeconfig", access})
		want := "the API server " + kubernetes.URL + ` is not that of EKS cluster "prod"`
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s ends with %v, want %q", name, err, want)
		}
	}
}

// The connection that bounds a credential plugin has no CA. The one of the kubeconfig is compared all the same.
func TestAnotherAPIServerBehindAPlugin(t *testing.T) {
	kubernetes := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer kubernetes.Close()
	encoded := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }
	plain, err := os.ReadFile(kubeconfig(t, kubernetes.URL, encoded(kubernetes.Certificate().Raw)))
	if err != nil {
		t.Fatal(err)
	}
	plugin := `"user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "echo", "interactiveMode": "Never",
		"args": ["{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"secret\"}}"]}}`
	access := clusterAccess{kubeconfig: file(t, "plugin", strings.Replace(string(plain), `"user": {}`, plugin, 1))}
	err = access.accept(t.Context(), &asset.Cluster{Name: "prod", CA: encoded([]byte("of the cluster")), Issuer: "https://eks/id/PROD"})
	if err == nil || !strings.Contains(err.Error(), "it is reached by another CA") {
		t.Errorf("error = %v, want that the CA is another one", err)
	}
}

// toAWS makes a test's requests to EKS go to a server.
func toAWS(t *testing.T, eks string) {
	t.Helper()
	for key, value := range map[string]string{
		"AWS_ENDPOINT_URL_EKS": eks, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(key, value)
	}
}

// kubeconfig is the name of a file that leads to an API server.
func kubeconfig(t *testing.T, server string, ca []byte) string {
	t.Helper()
	return file(t, "config", fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [{"name": "x", "cluster": {"server": %q, "certificate-authority-data": %q}}],
		"users": [{"name": "x", "user": {}}], "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}]}`, server, base64.StdEncoding.EncodeToString(ca)))
}
