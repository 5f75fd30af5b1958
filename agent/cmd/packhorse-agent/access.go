package main

import (
	"context"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/origin"
)

// clusterAccess holds the flags that say how to reach the cluster.
type clusterAccess struct{ kubeconfig, context string }

// addFlags adds the flags. The help says what is used without them.
func (c *clusterAccess) addFlags(flags *pflag.FlagSet, otherwise string) {
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "`FILE` to reach the cluster by (default: "+otherwise+")")
	flags.StringVar(&c.context, "kube-context", "", "`NAME` of a context in the kubeconfig (default: its current one)")
}

func (c *clusterAccess) config() (*rest.Config, error) {
	access, err := c.direct()
	if err != nil {
		return nil, err
	}
	return call.BoundPlugin(access)
}

// direct is config for connections that are more than requests. A credential plugin may hold them up for ever.
func (c *clusterAccess) direct() (*rest.Config, error) {
	return kube.RESTConfig(c.kubeconfig, c.context)
}

// accept refuses an EKS cluster that has another API server. It looks at the certificates of the direct connection.
func (c *clusterAccess) accept(ctx context.Context, cluster *asset.Cluster) error {
	access, err := c.direct()
	if err != nil {
		return err
	}
	return origin.Check(ctx, access, cluster)
}
