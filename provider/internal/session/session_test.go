package session

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		"a name and a block":       {Config{ClusterName: "prod", Kubernetes: &Kubernetes{Host: "https://h"}}, "", "keep one"},
		"a name before the env":    {Config{ClusterName: "prod", KubeConfigPath: "p"}, `EKS cluster "prod"`, ""},
		"an empty name":            {Config{EmptyName: true, KubeConfigPath: "p"}, "", "`cluster_name` is empty: name the cluster, or omit it"},
		"an empty name and a host": {Config{EmptyName: true, Kubernetes: &Kubernetes{Host: "https://h"}}, "the provider block's `kubernetes`", ""},
		"the env":                  {Config{KubeConfigPath: "p"}, "KUBE_CONFIG_PATH", ""},
		"a host":                   {Config{Kubernetes: &Kubernetes{Host: "https://h"}}, "the provider block's `kubernetes`", ""},
		"a host and a kubeconfig":  {Config{Kubernetes: &Kubernetes{Host: "https://h", ConfigPath: "p"}}, "", "keep one"},
		"a block without a host":   {Config{Kubernetes: &Kubernetes{Token: "t"}}, "", "needs either"},
		"a context of nothing":     {Config{Kubernetes: &Kubernetes{Host: "https://h", ConfigContext: "c"}}, "", "needs `config_path`"},
		"a certificate and no key": {Config{Kubernetes: &Kubernetes{Host: "https://h", ClientCertificate: "c"}}, "", "must be set together"},
		"two ways to authenticate": {Config{Kubernetes: &Kubernetes{Host: "https://h", Token: "t", Exec: &Exec{}}}, "", "`token` and `exec`"},

		"a host that is no URL":            {Config{Kubernetes: &Kubernetes{Host: "h:6443", Token: "t"}}, "", "`kubernetes.host`: \"h:6443\" must be a URL, such as https://h:6443"},
		"a host of another scheme":         {Config{Kubernetes: &Kubernetes{Host: "ssh://h"}}, "", "`kubernetes.host`: \"ssh://h\" must be a URL, such as https://h"},
		"a URL without a host":             {Config{Kubernetes: &Kubernetes{Host: "https://"}}, "", "must be a URL, such as https://api.example.com"},
		"a token without TLS":              {Config{Kubernetes: &Kubernetes{Host: "http://h", Token: "t"}}, "", "\"http://h\" would send credentials in clear text: set https://h"},
		"a token of a program without TLS": {Config{Kubernetes: &Kubernetes{Host: "HTTP://h", Exec: &Exec{}}}, "", "would send credentials in clear text: set https://h"},
		"no credentials and no TLS":        {Config{Kubernetes: &Kubernetes{Host: "http://127.0.0.1:8001"}}, "the provider block's `kubernetes`", ""},
		"a proxy":                          {Config{Kubernetes: &Kubernetes{Host: "https://h", ProxyURL: "socks5://p:1080"}}, "the provider block's `kubernetes`", ""},
		"a proxy that is no URL":           {Config{Kubernetes: &Kubernetes{Host: "https://h", ProxyURL: "p:3128"}}, "", "`kubernetes.proxy_url` must be a URL, such as http://proxy.example.com:3128"},
		"a proxy that is an address":       {Config{Kubernetes: &Kubernetes{Host: "https://h", ProxyURL: "10.0.0.1:3128"}}, "", "`kubernetes.proxy_url` must be a URL"},
		"a proxy whose URL cannot be read": {Config{Kubernetes: &Kubernetes{Host: "https://h", ProxyURL: "http://me:%zz@p"}}, "", "`kubernetes.proxy_url` must be a URL"},
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

// nowhere is a platform that must not be asked for anything.
func nowhere(Config) Platform { return nil }

func TestUnknownBlockGivesNoClient(t *testing.T) {
	s := New(Config{ClusterName: "prod", Unknown: []string{"cluster_name", "default_tags", "region"}}, nowhere)
	if _, err := s.Cluster(t.Context()); !errors.Is(err, ErrUnknown) || !strings.HasSuffix(err.Error(), ": `cluster_name`, `region`") {
		t.Errorf("cluster: error = %v, want ErrUnknown that names the attributes", err)
	}
	if _, err := s.Account(t.Context()); !errors.Is(err, ErrUnknown) || !strings.HasSuffix(err.Error(), ": `region`") {
		t.Errorf("account: error = %v, want ErrUnknown that names the region", err)
	}
	if _, err := s.Stock(t.Context()); !errors.Is(err, ErrUnknown) {
		t.Errorf("what can be bought: error = %v, want ErrUnknown", err)
	}
}

// What an unknown attribute has no part in does not wait for it.
func TestUnknownAttributesOfOthers(t *testing.T) {
	s := New(Config{ClusterName: "prod", Unknown: []string{"cluster_name"}}, func(Config) Platform { return refusing{} })
	if _, err := s.Account(t.Context()); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("account: error = %v, want that of AWS", err)
	}
	if _, err := s.Naming("prod").Cluster(t.Context()); err == nil || errors.Is(err, ErrUnknown) {
		t.Errorf("a cluster that is named: error = %v, want that of the cluster", err)
	}
	s = New(Config{ClusterName: "prod", Unknown: []string{"catalogue_file", "default_tags", "plan_checks"}}, nowhere)
	if err := s.Known(); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := New(Config{Kubernetes: &Kubernetes{Token: "tokensecret", ClientKey: "keysecret", Exec: &Exec{Env: map[string]string{"A": "envsecret"}}}}, nowhere)
	var out bytes.Buffer
	ctx := s.Mask(tflogtest.RootLogger(context.Background(), &out))
	tflog.Warn(ctx, "sent tokensecret", map[string]any{"key": "keysecret", "env": "x envsecret y"})
	if logged := out.String(); logged == "" || strings.Contains(logged, "secret\"") || strings.Contains(logged, "tokensecret") || strings.Contains(logged, "envsecret") {
		t.Errorf("a secret is in the log: %s", logged)
	}
}

// young is a platform whose cluster responds with the error until it is ready.
type young struct {
	Platform
	ready time.Time
	err   error
}

func (y *young) Cluster(context.Context) (Cluster, error) {
	if time.Now().Before(y.ready) {
		return nil, y.err
	}
	return nil, nil
}

// An apply waits for a cluster that was created a moment ago. A plan does not, and nobody waits after another error.
func TestOnlyAnApplyAwaitsTheCluster(t *testing.T) {
	other := errors.New("denied")
	for name, c := range map[string]struct {
		find  func(*Session, context.Context) (Cluster, error)
		ready time.Duration
		err   error
		want  error
		takes time.Duration
	}{
		"an apply":                       {(*Session).AwaitCluster, 33 * time.Second, ErrNotReady, nil, 35 * time.Second},
		"an apply without a cluster":     {(*Session).AwaitCluster, time.Hour, ErrNotReady, ErrNotReady, time.Minute},
		"an apply with the wrong access": {(*Session).AwaitCluster, time.Hour, other, other, 0},
		"a plan":                         {(*Session).Cluster, time.Hour, ErrNotReady, ErrNotReady, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := New(Config{ClusterName: "prod"}, func(Config) Platform { return &young{ready: began.Add(c.ready), err: c.err} })
				if _, err := c.find(s, t.Context()); !errors.Is(err, c.want) || time.Since(began) != c.takes {
					t.Errorf("%v after %s, want %v after %s", err, time.Since(began), c.want, c.takes)
				}
			})
		})
	}
}
