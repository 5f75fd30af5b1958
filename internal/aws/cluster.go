package aws

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// How long the answer of EKS about the cluster is used. The Kubernetes version may change
// while the agent runs.
const (
	clusterDue      = 15 * time.Minute
	clusterOutdated = 24 * time.Hour
)

// clusterFacts describes the cluster that machines join.
type clusterFacts struct {
	client  *eks.Client
	options Options
	memo    *client.Memo[*cluster]
}

// cluster is what a machine needs to know to join.
type cluster struct {
	endpoint string
	ca       []byte
	version  string
	cidr     string // of Services
	ipv6     bool   // the family of pods and Services
}

func newClusterFacts(sdk *eks.Client, o Options) *clusterFacts {
	return &clusterFacts{client: sdk, options: o, memo: client.NewMemo[*cluster](o.Now, clusterDue, clusterOutdated)}
}

func (f *clusterFacts) get(ctx context.Context) (*cluster, error) {
	return f.memo.Get(ctx, "", f.ask)
}

func (f *clusterFacts) ask(ctx context.Context) (*cluster, error) {
	name := f.options.ClusterName
	out, err := client.Invoke(ctx, f.client.DescribeCluster, &eks.DescribeClusterInput{Name: &name})
	if err != nil {
		return nil, fmt.Errorf("describe cluster %s: %w", name, err)
	}
	c := &cluster{endpoint: cmp.Or(f.options.ClusterEndpoint, awssdk.ToString(out.Cluster.Endpoint)), version: awssdk.ToString(out.Cluster.Version)}
	if network := out.Cluster.KubernetesNetworkConfig; network != nil {
		c.cidr = awssdk.ToString(network.ServiceIpv4Cidr)
		if network.IpFamily == types.IpFamilyIpv6 {
			c.cidr = awssdk.ToString(network.ServiceIpv6Cidr)
		}
		c.ipv6 = isIPv6(c.cidr)
	}
	if authority := out.Cluster.CertificateAuthority; authority != nil {
		if c.ca, err = base64.StdEncoding.DecodeString(awssdk.ToString(authority.Data)); err != nil {
			return nil, fmt.Errorf("describe cluster %s: decode its certificate authority: %w", name, err)
		}
	}
	if c.endpoint == "" || c.version == "" {
		return nil, fmt.Errorf("describe cluster %s: it has no endpoint yet", name)
	}
	return c, nil
}

// isIPv6 reports whether a range of addresses is one of IPv6.
func isIPv6(cidr string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && prefix.Addr().Is6()
}
