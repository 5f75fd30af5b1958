package assets

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

// All instance profiles of a role are found, with the tags that tell who keeps them,
// also where IAM answers in pages of a hundred.
func TestProfilesOfARole(t *testing.T) {
	cfg := cloudtest.Start(t).Config
	client, role := iam.NewFromConfig(cfg), aws.String("machines")
	trust, err := policy.NodeTrust("aws")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: &trust}); err != nil {
		t.Fatal(err)
	}
	var want []asset.Profile
	for n := range 101 {
		profile := asset.Profile{Name: fmt.Sprintf("prod_%03d", n), Path: "/", Role: *role, Tags: map[string]string{"karpenter.k8s.aws/ec2nodeclass": "default"}}
		want = append(want, profile)
		if _, err := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{
			InstanceProfileName: &profile.Name, Tags: []types.Tag{{Key: aws.String("karpenter.k8s.aws/ec2nodeclass"), Value: aws.String("default")}},
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &profile.Name, RoleName: role}); err != nil {
			t.Fatal(err)
		}
	}
	account := New(cfg)
	got, err := account.ProfilesOf(t.Context(), *role)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := account.ProfilesOf(t.Context(), "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want that the role does not exist", err)
	}
}
