package session

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
)

// Requests per second and burst of one provider block: a large configuration
// refreshes hundreds of objects.
const (
	clientQPS   = 50
	clientBurst = 100
)

// Cluster is the API server of the cluster.
type Cluster struct {
	Dynamic dynamic.Interface
	Typed   kubernetes.Interface
	// UID is that of the namespace kube-system: another one is another cluster.
	UID types.UID
}

// Cluster returns the cluster's clients.
func (s *Session) Cluster(ctx context.Context) (*Cluster, error) {
	if err := s.Known(); err != nil {
		return nil, err
	}
	return s.cluster.get(func() (*Cluster, error) {
		cfg, err := s.restConfig(ctx)
		if err != nil {
			return nil, err
		}
		cfg.QPS, cfg.Burst = clientQPS, clientBurst
		cfg.UserAgent = "terraform-provider-packhorse"
		return newCluster(ctx, cfg)
	})
}

func newCluster(ctx context.Context, cfg *rest.Config) (*Cluster, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	typed, err := kubernetes.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("prepare the connection to %s: %w", cfg.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	system, err := typed.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster at %s: %w", cfg.Host, err)
	}
	return &Cluster{Dynamic: objects, Typed: typed, UID: system.UID}, nil
}

func (s *Session) restConfig(ctx context.Context) (*rest.Config, error) {
	source, err := s.Config.Source()
	if err != nil {
		return nil, err
	}
	tflog.Info(ctx, "chose the access to the cluster", map[string]any{"source": source})
	switch {
	case s.Config.ClusterName != "":
		return s.eksConfig(ctx)
	case s.Config.Kubernetes == nil:
		return kubeconfig(s.Config.KubeConfigPath, "")
	case s.Config.Kubernetes.ConfigPath != "":
		return kubeconfig(s.Config.Kubernetes.ConfigPath, s.Config.Kubernetes.ConfigContext)
	}
	return s.Config.Kubernetes.restConfig()
}

func (s *Session) eksConfig(ctx context.Context) (*rest.Config, error) {
	cluster, err := s.EKS(ctx)
	if err != nil {
		return nil, err
	}
	client, err := s.sts(ctx)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            cluster.Endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: cluster.CA},
		WrapTransport:   eksauth.NewTokens(client, cluster.Name, time.Now).WrapTransport,
	}, nil
}

// kubeconfig reads exactly the file that was named: no default locations, no
// service account of a surrounding cluster, no localhost.
func kubeconfig(path, context string) (*rest.Config, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
		}
		path = filepath.Join(home, rest)
	}
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := clientcmd.ResolveLocalPaths(file); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(*file, context, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}

func (k *Kubernetes) restConfig() (*rest.Config, error) {
	cfg := &rest.Config{
		Host:        k.Host,
		BearerToken: k.Token,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: k.TLSServerName,
			CAData:     []byte(k.CA),
			CertData:   []byte(k.ClientCertificate),
			KeyData:    []byte(k.ClientKey),
		},
	}
	if k.ProxyURL != "" {
		proxy, err := url.Parse(k.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("read `kubernetes.proxy_url`: %w", err)
		}
		cfg.Proxy = http.ProxyURL(proxy)
	}
	if k.Exec != nil {
		cfg.ExecProvider = k.Exec.config()
	}
	return cfg, nil
}

func (e *Exec) config() *clientcmdapi.ExecConfig {
	out := &clientcmdapi.ExecConfig{
		APIVersion:      e.APIVersion,
		Command:         e.Command,
		Args:            e.Args,
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		out.Env = append(out.Env, clientcmdapi.ExecEnvVar{Name: name, Value: e.Env[name]})
	}
	return out
}
