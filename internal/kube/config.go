package kube

import (
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// RESTConfig finds the cluster: by a kubeconfig file and the name of a context in
// it, where both may be empty. Without a file the usual places are searched:
// $KUBECONFIG, the home folder, and the ServiceAccount of the pod that this
// process runs in.
func RESTConfig(kubeconfig, context string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) && kubeconfig != "" {
		return nil, fmt.Errorf("find the cluster: the kubeconfig %s names no cluster; save it again, for example with aws eks update-kubeconfig", kubeconfig)
	}
	if clientcmd.IsEmptyConfig(err) { // its own words advise to set a variable that is not for people
		return nil, errors.New("find the cluster: there is no kubeconfig: name one with --kubeconfig or $KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return cfg, nil
}
