package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	"github.com/hashicorp/terraform-plugin-log/tflogtest"
)

func TestSource(t *testing.T) {
	tests := map[string]struct {
		config  Config
		want    string
		problem string
	}{
		"nothing":                  {Config{}, "", "no cluster is configured"},
		"a name":                   {Config{ClusterName: "prod"}, `EKS cluster "prod"`, ""},
		"a name and a block":       {Config{ClusterName: "prod", Kubernetes: &Kubernetes{Host: "h"}}, "", "keep one"},
		"a name before the env":    {Config{ClusterName: "prod", KubeConfigPath: "p"}, `EKS cluster "prod"`, ""},
		"the env":                  {Config{KubeConfigPath: "p"}, "KUBE_CONFIG_PATH", ""},
		"a host":                   {Config{Kubernetes: &Kubernetes{Host: "h"}}, "the provider block's `kubernetes`", ""},
		"a host and a kubeconfig":  {Config{Kubernetes: &Kubernetes{Host: "h", ConfigPath: "p"}}, "", "keep one"},
		"a block without a host":   {Config{Kubernetes: &Kubernetes{Token: "t"}}, "", "needs either"},
		"a context of nothing":     {Config{Kubernetes: &Kubernetes{Host: "h", ConfigContext: "c"}}, "", "needs `config_path`"},
		"a certificate and no key": {Config{Kubernetes: &Kubernetes{Host: "h", ClientCertificate: "c"}}, "", "need each other"},
		"two ways to authenticate": {Config{Kubernetes: &Kubernetes{Host: "h", Token: "t", Exec: &Exec{}}}, "", "`token` and `exec`"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := tt.config.Source()
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("error = %v, want one that says %q", err, tt.problem)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("source = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestUnknownBlockGivesNoClient(t *testing.T) {
	s := New(Config{ClusterName: "prod", Unknown: []string{"`cluster_name`"}})
	if _, err := s.Cluster(t.Context()); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "`cluster_name`") {
		t.Errorf("cluster: error = %v, want ErrUnknown that names the attribute", err)
	}
	if _, err := s.Roles(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("roles: error = %v, want ErrUnknown", err)
	}
}

func TestLazyBuildsOnceAndTriesAgainAfterAnError(t *testing.T) {
	var l lazy[int]
	builds := 0
	build := func() (int, error) {
		builds++
		if builds == 1 {
			return 0, errors.ErrUnsupported
		}
		return builds, nil
	}
	if _, err := l.get(build); err == nil {
		t.Fatal("the first build's error is lost")
	}
	for range 3 {
		if got, err := l.get(build); got != 2 || err != nil {
			t.Fatalf("value = %d, %v, want that of the second build", got, err)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := New(Config{Kubernetes: &Kubernetes{Token: "tokensecret", ClientKey: "keysecret", Exec: &Exec{Env: map[string]string{"A": "envsecret"}}}})
	var out bytes.Buffer
	ctx := s.Mask(tflogtest.RootLogger(context.Background(), &out))
	tflog.Warn(ctx, "sent tokensecret", map[string]any{"key": "keysecret", "env": "x envsecret y"})
	if logged := out.String(); logged == "" || strings.Contains(logged, "secret\"") || strings.Contains(logged, "tokensecret") || strings.Contains(logged, "envsecret") {
		t.Errorf("a secret is in the log: %s", logged)
	}
}

func TestKubeconfigIsTheNamedOneOnly(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "other"))
	t.Setenv("KUBERNETES_MASTER", "http://localhost:8080")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, filepath.Join(dir, "missing")} {
		if cfg, err := kubeconfig(path, ""); err == nil {
			t.Errorf("%s gave access to %s", filepath.Base(path), cfg.Host)
		}
	}
	full := filepath.Join(dir, "full")
	text := `{"apiVersion":"v1","kind":"Config","current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://a"}},{"name":"b","cluster":{"server":"https://b"}}],
"contexts":[{"name":"a","context":{"cluster":"a"}},{"name":"b","context":{"cluster":"b"}}]}`
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for context, want := range map[string]string{"": "https://a", "b": "https://b"} {
		if cfg, err := kubeconfig(full, context); err != nil || cfg.Host != want {
			t.Errorf("context %q: host = %v, %v, want %s", context, cfg, err, want)
		}
	}
}

func TestRESTConfigOfABlock(t *testing.T) {
	k := &Kubernetes{
		Host: "https://h", CA: "ca", TLSServerName: "name", ProxyURL: "http://proxy:3128",
		Exec: &Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "get-token", Args: []string{"-x"}, Env: map[string]string{"B": "2", "A": "1"}},
	}
	cfg, err := k.restConfig()
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := cfg.Proxy(nil)
	if err != nil || proxy.Host != "proxy:3128" {
		t.Errorf("proxy = %v, %v", proxy, err)
	}
	if cfg.Host != "https://h" || string(cfg.CAData) != "ca" || cfg.ServerName != "name" {
		t.Errorf("config = %+v", cfg)
	}
	if e := cfg.ExecProvider; e.Command != "get-token" || len(e.Env) != 2 || e.Env[0].Name != "A" {
		t.Errorf("exec = %+v", e)
	}
}
