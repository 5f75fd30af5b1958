package eksauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Describer describes clusters.
type Describer interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

var (
	// ErrNoCluster means that there is no cluster of the name.
	ErrNoCluster = errors.New("no such EKS cluster")
	// ErrNoEndpoint means that the cluster is still being created.
	ErrNoEndpoint = errors.New("it has no endpoint yet")
)

// Find is Describe, except that a cluster that is still being created and has no endpoint yet is ErrNoEndpoint.
func Find(ctx context.Context, client Describer, name string) (*asset.Cluster, error) {
	cluster, err := Describe(ctx, client, name)
	if err == nil && (cluster.Endpoint == "" || len(cluster.CA) == 0) {
		return nil, fmt.Errorf("find cluster %q: %w, its status is %s", name, ErrNoEndpoint, cluster.Status)
	}
	return cluster, err
}

// Describe returns the EKS cluster of the name. If there is none, the error is ErrNoCluster.
func Describe(ctx context.Context, client Describer, name string) (*asset.Cluster, error) {
	out, err := client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(name)})
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return nil, fmt.Errorf("find cluster %q: %w in this region and account", name, ErrNoCluster)
	}
	if err != nil {
		return nil, fmt.Errorf("find cluster %q: %w", name, err)
	}
	c := out.Cluster
	cluster := &asset.Cluster{
		Name: name, ARN: aws.ToString(c.Arn), Endpoint: aws.ToString(c.Endpoint), Version: aws.ToString(c.Version), Status: string(c.Status), Tags: c.Tags,
	}
	if c.CertificateAuthority != nil {
		if cluster.CA, err = base64.StdEncoding.DecodeString(aws.ToString(c.CertificateAuthority.Data)); err != nil {
			return nil, fmt.Errorf("find cluster %q: decode its CA: %w", name, err)
		}
	}
	if network := c.KubernetesNetworkConfig; network != nil {
		cluster.ServiceCIDR = aws.ToString(network.ServiceIpv4Cidr)
		if cluster.IPv6 = network.IpFamily == types.IpFamilyIpv6; cluster.IPv6 {
			cluster.ServiceCIDR = aws.ToString(network.ServiceIpv6Cidr)
		}
	}
	if c.Identity != nil && c.Identity.Oidc != nil {
		cluster.Issuer = aws.ToString(c.Identity.Oidc.Issuer)
	}
	if vpc := c.ResourcesVpcConfig; vpc != nil {
		cluster.VPC = aws.ToString(vpc.VpcId)
		cluster.Subnets = slices.Sorted(slices.Values(vpc.SubnetIds))
		groups := vpc.SecurityGroupIds
		if own := aws.ToString(vpc.ClusterSecurityGroupId); own != "" {
			groups = append(slices.Clone(groups), own)
		}
		cluster.SecurityGroups = slices.Compact(slices.Sorted(slices.Values(groups)))
	}
	return cluster, nil
}
