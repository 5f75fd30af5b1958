package stage

import (
	"context"
	"fmt"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// AWS returns the configuration of an SDK client that acts as the account's administrator.
func (s *Stage) AWS() awssdk.Config {
	key, secret := s.Sandbox.Cloud.AdminCredentials()
	return awssdk.Config{
		Region:       s.Sandbox.Region,
		BaseEndpoint: &s.Sandbox.AWSEndpoint,
		Credentials:  credentials.NewStaticCredentialsProvider(key, secret, ""),
	}
}

// Leftovers names everything that Packhorse or its Terraform configuration made
// and that is still there: in the cluster and in the AWS account.
func (s *Stage) Leftovers(ctx context.Context) ([]string, error) {
	var left []string
	for _, find := range []func(context.Context) ([]string, error){s.leftNodes, s.leftResources, s.leftInstances, s.leftTemplates, s.leftRoles} {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		left = append(left, found...)
	}
	return left, nil
}

func (s *Stage) leftNodes(ctx context.Context) ([]string, error) {
	nodes, err := s.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: api.LabelProvisioner})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var left []string
	for _, n := range nodes.Items {
		left = append(left, "node "+n.Name)
	}
	return left, nil
}

func (s *Stage) leftResources(ctx context.Context) ([]string, error) {
	var left []string
	for _, gvr := range []schema.GroupVersionResource{api.ProvisionerGVR, api.NodeTemplateGVR} {
		list, err := s.Dynamic.Resource(gvr).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // its definition is gone too
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvr.Resource, err)
		}
		for _, o := range list.Items {
			left = append(left, o.GetKind()+" "+o.GetName())
		}
	}
	return left, nil
}

func (s *Stage) leftInstances(context.Context) ([]string, error) {
	var left []string
	for _, i := range s.Live() {
		left = append(left, "instance "+i.ID)
	}
	return left, nil
}

func (s *Stage) leftTemplates(ctx context.Context) ([]string, error) {
	out, err := ec2.NewFromConfig(s.AWS()).DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("tag-key"), Values: []string{api.TagManagedBy}}},
	})
	if err != nil {
		return nil, fmt.Errorf("list launch templates: %w", err)
	}
	var left []string
	for _, t := range out.LaunchTemplates {
		left = append(left, "launch template "+*t.LaunchTemplateName)
	}
	return left, nil
}

func (s *Stage) leftRoles(ctx context.Context) ([]string, error) {
	out, err := iam.NewFromConfig(s.AWS()).ListRoles(ctx, &iam.ListRolesInput{})
	if err != nil {
		return nil, fmt.Errorf("list roles: %w", err)
	}
	var left []string
	for _, r := range out.Roles {
		if strings.Contains(*r.RoleName, s.Sandbox.ClusterName) {
			left = append(left, "role "+*r.RoleName)
		}
	}
	return left, nil
}
