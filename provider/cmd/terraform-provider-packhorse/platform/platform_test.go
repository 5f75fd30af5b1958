package platform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

func TestLazyBuildsOnceAndTriesAgainAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lazy[int]
		builds := 0
		build := func() (int, error) {
			builds++
			if builds < 3 {
				return 0, errors.ErrUnsupported
			}
			return builds, nil
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.get(cancelled, build); err == nil {
			t.Fatal("the first build's error is lost")
		}
		for range 3 { // those who have waited meanwhile
			if _, err := l.get(t.Context(), build); err == nil || builds != 2 {
				t.Fatalf("error = %v after %d builds, want that of the second, since the first was cancelled", err, builds)
			}
		}
		time.Sleep(pause)
		for range 3 {
			if got, err := l.get(t.Context(), build); got != 3 || err != nil {
				t.Fatalf("value = %d, %v, want that of the third build", got, err)
			}
		}
	})
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

// client-go recommends a variable of the environment here, which the provider does not read.
func TestKubeconfigThatNamesNoCluster(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	for _, c := range []struct{ text, context, want string }{
		{``, "", "it names no cluster: save it again"},
		{`{"clusters":[{"name":"a","cluster":{"server":"https://a"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}]}`, "", "it has no current-context: set `config_context`"},
		{`{"current-context":"a","contexts":[{"name":"a","context":{"cluster":"b"}}]}`, "", `its context "a" names the cluster "b", which is not in the file`},
		{
			`{"current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://a"}}],"contexts":[{"name":"a","context":{"cluster":"a"}},{"name":"c","context":{"cluster":"d"}}]}`,
			"c", `its context "c" names the cluster "d", which is not in the file`,
		},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := kubeconfig(path, c.context); err == nil || !strings.Contains(err.Error(), "read kubeconfig "+path+": "+c.want) {
			t.Errorf("error = %v, want one that says %q", err, c.want)
		}
	}
}

func TestRESTConfigOfABlock(t *testing.T) {
	k := &session.Kubernetes{
		Host: "https://h", CA: "ca", TLSServerName: "name", ProxyURL: "http://proxy:3128",
		Exec: &session.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: "get-token", Args: []string{"-x"}, Env: map[string]string{"B": "2", "A": "1"}},
	}
	cfg, err := restConfig(k)
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

// EKS reports the range of Services in one of two fields.
func TestFactsHaveTheRangeOfServices(t *testing.T) {
	for _, cidr := range []string{"10.100.0.0/16", "fd30:1c53:5f8a::/108"} {
		account := cloudtest.Serve(t, cloud.Config{Catalogue: offer.EmbeddedCSV(), Cluster: cloud.Cluster{Name: "prod", CA: []byte("PEM"), ServiceCIDR: cidr}})
		p := &platform{config: session.Config{ClusterName: "prod"}}
		if _, err := p.aws.get(t.Context(), func() (aws.Config, error) { return account.Config, nil }); err != nil {
			t.Fatal(err)
		}
		if facts, err := p.Facts(t.Context()); err != nil || facts.ServiceCIDR != cidr || string(facts.CA) != "PEM" || len(facts.Subnets) == 0 {
			t.Errorf("facts = %+v, %v, want the range %s", facts, err, cidr)
		}
	}
}
