package kube

import (
	"fmt"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// RESTConfig returns the access to the cluster of a context in a kubeconfig file. An empty
// context means the file's current context. If kubeconfig is empty, RESTConfig reads
// $KUBECONFIG, ~/.kube/config, or the ServiceAccount of the pod in which the process runs.
func RESTConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) && context != "" {
		return nil, fmt.Errorf("find the cluster: the context %q names a cluster that is not in the kubeconfig %s; add it, or name another context", context, strings.Join(rules.GetLoadingPrecedence(), ", "))
	}
	if clientcmd.IsEmptyConfig(err) && kubeconfig != "" {
		return nil, fmt.Errorf("find the cluster: the kubeconfig %s names no cluster; save it again, for example with aws eks update-kubeconfig", kubeconfig)
	}
	if clientcmd.IsEmptyConfig(err) { // client-go's message recommends $KUBERNETES_MASTER
		return nil, fmt.Errorf("find the cluster: there is none in %s: name a kubeconfig with --kubeconfig or $KUBECONFIG", strings.Join(rules.Precedence, ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return cfg, nil
}
