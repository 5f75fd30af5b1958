package eksauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Cluster is an EKS cluster.
type Cluster struct {
	Name string
	ARN  string
	// Endpoint is the URL of the API server.
	Endpoint string
	// CA is the PEM bundle that verifies the API server's certificate.
	CA []byte
	// Version is the Kubernetes version, such as 1.33.
	Version string
	// ServiceCIDR is the address range of Services, empty if EKS reports none.
	ServiceCIDR string
	// IPv6 reports whether pods and Services have IPv6 addresses.
	IPv6 bool
	// Issuer is the URL of the OIDC issuer, empty if the cluster has none.
	Issuer string
}

// Describer describes clusters.
type Describer interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Find returns the EKS cluster of the name, within a minute. A cluster that is still being
// created and has no endpoint yet is an error.
func Find(ctx context.Context, client Describer, name string) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String(name)})
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return nil, fmt.Errorf("find cluster %q: no such EKS cluster in this region and account", name)
	}
	if err != nil {
		return nil, fmt.Errorf("find cluster %q: %w", name, err)
	}
	c := out.Cluster
	if c.Endpoint == nil || c.CertificateAuthority == nil {
		return nil, fmt.Errorf("find cluster %q: it has no endpoint yet, its status is %s", name, c.Status)
	}
	ca, err := base64.StdEncoding.DecodeString(aws.ToString(c.CertificateAuthority.Data))
	if err != nil {
		return nil, fmt.Errorf("find cluster %q: decode its CA: %w", name, err)
	}
	cluster := &Cluster{Name: name, ARN: aws.ToString(c.Arn), Endpoint: *c.Endpoint, CA: ca, Version: aws.ToString(c.Version)}
	if network := c.KubernetesNetworkConfig; network != nil {
		cluster.ServiceCIDR = aws.ToString(network.ServiceIpv4Cidr)
		if cluster.IPv6 = network.IpFamily == types.IpFamilyIpv6; cluster.IPv6 {
			cluster.ServiceCIDR = aws.ToString(network.ServiceIpv6Cidr)
		}
	}
	if c.Identity != nil && c.Identity.Oidc != nil {
		cluster.Issuer = aws.ToString(c.Identity.Oidc.Issuer)
	}
	return cluster, nil
}
