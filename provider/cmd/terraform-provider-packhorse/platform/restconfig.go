package platform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// restConfig returns the access to the cluster, through a credential plugin only for as long as that responds, and the
// ARN of the cluster if `cluster_name` names it.
func (p *platform) restConfig(ctx context.Context) (access *rest.Config, arn string, err error) {
	if p.config.ClusterName != "" {
		return p.eksConfig(ctx)
	}
	if access, err = p.source(); err != nil {
		return nil, "", err
	}
	access, err = call.BoundPlugin(access)
	return access, "", err
}

// source returns the access to the cluster from the source that the provider block names, unless that is EKS.
func (p *platform) source() (*rest.Config, error) {
	switch cfg := p.config; {
	case cfg.Kubernetes == nil:
		return kubeconfig(cfg.KubeConfigPath, "")
	case cfg.Kubernetes.ConfigPath != "":
		return kubeconfig(cfg.Kubernetes.ConfigPath, cfg.Kubernetes.ConfigContext)
	default:
		return restConfig(cfg.Kubernetes)
	}
}

func (p *platform) eksConfig(ctx context.Context) (access *rest.Config, arn string, err error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		return nil, "", err
	}
	found, err := eksauth.Find(ctx, eks.NewFromConfig(cfg), p.config.ClusterName)
	if err != nil {
		return nil, "", err
	}
	return &rest.Config{
		Host:            found.Endpoint,
		TLSClientConfig: rest.TLSClientConfig{CAData: found.CA},
		WrapTransport:   eksauth.NewTokens(sts.NewFromConfig(cfg), found.Name).WrapTransport,
	}, found.ARN, nil
}

// kubeconfig reads the named file and nothing else: no default locations, no ServiceAccount of the
// pod in which Terraform runs, and no localhost.
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
	if clientcmd.IsEmptyConfig(err) {
		err = noCluster(file, cmp.Or(context, file.CurrentContext))
	}
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	return cfg, nil
}

// noCluster says why a context of a kubeconfig names no cluster. The message of client-go recommends $KUBERNETES_MASTER.
func noCluster(file *clientcmdapi.Config, context string) error {
	used, ok := file.Contexts[context]
	switch {
	case ok:
		return fmt.Errorf("its context %q names the cluster %q, which is not in the file", context, used.Cluster)
	case len(file.Contexts) > 0:
		return errors.New("it has no current-context: set `config_context` in `kubernetes`, or choose one with kubectl config use-context")
	}
	return errors.New("it names no cluster: save it again, for example with aws eks update-kubeconfig")
}

func restConfig(k *session.Kubernetes) (*rest.Config, error) {
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
		cfg.ExecProvider = execConfig(k.Exec)
	}
	return cfg, nil
}

func execConfig(e *session.Exec) *clientcmdapi.ExecConfig {
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
