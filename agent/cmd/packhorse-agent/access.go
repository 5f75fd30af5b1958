package main

import (
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
)

// clusterAccess holds the flags that say how to reach the cluster.
type clusterAccess struct{ kubeconfig, context string }

// addFlags adds the flags. The help says what is used without them.
func (c *clusterAccess) addFlags(flags *pflag.FlagSet, otherwise string) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "`FILE` to reach the cluster by (default: "+otherwise+")")
	flags.StringVar(&c.context, "kube-context", "", "`NAME` of a context in the kubeconfig (default: its current one)")
}

func (c *clusterAccess) config() (*rest.Config, error) {
	return kube.RESTConfig(c.kubeconfig, c.context)
}
