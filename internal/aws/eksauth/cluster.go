package eksauth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// callTimeout bounds one call of the EKS API with its retries.
const callTimeout = time.Minute

// Cluster is where an EKS cluster is and how it can be recognised.
type Cluster struct {
	Name string
	ARN  string
	// Endpoint is the URL of the API server.
	Endpoint string
	// CA is the PEM bundle that verifies the API server's certificate.
	CA []byte
	// Issuer is the URL of its OIDC issuer, empty if it has none.
	Issuer string
}

// Describer describes clusters.
type Describer interface {
	DescribeCluster(context.Context, *eks.DescribeClusterInput, ...func(*eks.Options)) (*eks.DescribeClusterOutput, error)
}

// Find returns the EKS cluster of the name, within a minute. A cluster that is still being
// created and has no endpoint yet is an error.
func Find(ctx context.Context, client Describer, name string) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
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
	cluster := &Cluster{Name: name, ARN: aws.ToString(c.Arn), Endpoint: *c.Endpoint, CA: ca}
	if c.Identity != nil && c.Identity.Oidc != nil {
		cluster.Issuer = aws.ToString(c.Identity.Oidc.Issuer)
	}
	return cluster, nil
}
