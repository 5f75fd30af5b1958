// Package live reads a real cluster and its AWS account for adoption.
package live

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/adopt"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/declare"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
)

// Find finds what can be adopted in an EKS cluster, which is reached by access.
func Find(ctx context.Context, cfg aws.Config, name string, access *rest.Config) (adopt.Scope, []adopt.Item, error) {
	scope := adopt.Scope{ClusterName: name, Region: cfg.Region}
	found, err := eksauth.Find(ctx, eks.NewFromConfig(cfg), name)
	if err != nil {
		return scope, nil, err
	}
	scope.Issuer, scope.ARN = found.Issuer, found.ARN
	typed, err := kubernetes.NewForConfig(access)
	if err != nil {
		return scope, nil, fmt.Errorf("prepare the connection to %s: %w", access.Host, err)
	}
	custom, err := dynamic.NewForConfig(access)
	if err != nil {
		return scope, nil, fmt.Errorf("prepare the connection to %s: %w", access.Host, err)
	}
	items, err := adopt.Find(ctx, scope, cluster{custom, declare.NewRoleAnnotation(typed, declare.Manager{})},
		newAccount(cfg))
	return scope, items, err
}

// cluster is the API server.
type cluster struct {
	custom   dynamic.Interface
	accounts *declare.RoleAnnotation
}

// Objects returns the custom resources of a kind.
func (c cluster) Objects(ctx context.Context, kind schema.GroupVersionResource) ([]map[string]any, error) {
	found, err := survey.Objects(ctx, c.custom, kind)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(found))
	for i, object := range found {
		out[i] = object.Object
	}
	return out, nil
}

// RoleOf returns the role that a ServiceAccount is annotated with.
func (c cluster) RoleOf(ctx context.Context, namespace, name string) (string, error) {
	arn, err := c.accounts.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	return arn, err
}
