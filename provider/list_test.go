package provider_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// The installed Terraform may know no list resources, so that they are asked for
// through the protocol.

// listed returns the results of a list resource by their names.
func listed(t *testing.T, typeName string, limit int64) map[string]tfprotov6.ListResourceResult {
	t.Helper()
	out := map[string]tfprotov6.ListResourceResult{}
	for _, result := range listing(t.Context(), t, configured(t), typeName, limit) {
		for _, d := range result.Diagnostics {
			t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
		out[result.DisplayName] = result
	}
	return out
}

// listing returns the results of a list resource, among them those that are errors.
func listing(ctx context.Context, t *testing.T, provider tfprotov6.ProviderServer, typeName string, limit int64) (out []tfprotov6.ListResourceResult) {
	t.Helper()
	server, ok := provider.(tfprotov6.ListResourceServer)
	if !ok {
		t.Fatal("the provider serves no list resources")
	}
	empty := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	config, err := tfprotov6.NewDynamicValue(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := server.ListResource(ctx, &tfprotov6.ListResourceRequest{TypeName: typeName, Config: &config, IncludeResource: true, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(stream.Results)
}

// stateOf decodes the attributes of a result.
func stateOf(t *testing.T, typeName string, result tfprotov6.ListResourceResult) map[string]tftypes.Value {
	t.Helper()
	schemas := schemasOf(t, configured(t))
	value, err := result.Resource.Unmarshal(schemas.ResourceSchemas[typeName].ValueType())
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := value.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return attributes
}

func TestListProvisioners(t *testing.T) {
	for _, name := range []string{"listed-a", "listed-b"} {
		apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 9}`)
		defer remove(t, api.ProvisionerGVR, name)
	}
	all := listed(t, "packhorse_provisioner", 0)
	for _, name := range []string{"listed-a", "listed-b"} {
		got, err := all[name].Identity.IdentityData.Unmarshal(identityType)
		if err != nil {
			t.Fatal(err)
		}
		want := tftypes.NewValue(identityType, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, name)})
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("identity (-want +got):\n%s", diff)
		}
		if weight := stateOf(t, "packhorse_provisioner", all[name])["weight"]; !weight.Equal(tftypes.NewValue(tftypes.Number, 9)) {
			t.Errorf("weight of %s = %s", name, weight)
		}
	}
	if some := listed(t, "packhorse_provisioner", 1); len(some) != 1 {
		t.Errorf("%d results within a limit of 1", len(some))
	}
}

func TestListNodeProfiles(t *testing.T) {
	apply(t, "kubectl", api.NodeTemplateGVR, "AWSNodeTemplate", "listed", `{amiFamily: AL2023, subnetSelector: {a: b}, securityGroupSelector: {a: b}}`)
	defer remove(t, api.NodeTemplateGVR, "listed")
	all := listed(t, "packhorse_node_profile", 0)
	if family := stateOf(t, "packhorse_node_profile", all["listed"])["ami_family"]; !family.Equal(tftypes.NewValue(tftypes.String, "AL2023")) {
		t.Errorf("family = %s", family)
	}
}

func TestListIRSARolesOfTheClusterOnly(t *testing.T) {
	for name, issuer := range map[string]string{"listed-here": box.Host, "listed-elsewhere": "https://elsewhere.example.com"} {
		made, err := roles.CreateOpenIDConnectProvider(t.Context(), &iam.CreateOpenIDConnectProviderInput{
			Url: &issuer, ClientIDList: []string{policy.Audience}, ThumbprintList: []string{strings.Repeat("0", 40)},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			_, roleErr := roles.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: &name})
			_, err := roles.DeleteOpenIDConnectProvider(t.Context(), &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: made.OpenIDConnectProviderArn})
			if err := errors.Join(roleErr, err); err != nil {
				t.Error(err)
			}
		}()
		trust, err := policy.Trust{
			Provider: policy.ProviderARN("aws", "123456789012", issuer), Issuer: issuer, Accounts: []policy.ServiceAccount{{Namespace: "a", Name: "b"}},
		}.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String(name), AssumeRolePolicyDocument: &trust}); err != nil {
			t.Fatal(err)
		}
	}
	all := listed(t, "packhorse_irsa_role", 0)
	if _, ok := all["listed-elsewhere"]; ok {
		t.Error("a role of another cluster is listed")
	}
	here, ok := all["listed-here"]
	if !ok {
		t.Fatalf("the role is not among %d", len(all))
	}
	if cluster := stateOf(t, "packhorse_irsa_role", here)["cluster_name"]; !cluster.Equal(tftypes.NewValue(tftypes.String, box.ClusterName)) {
		t.Errorf("cluster_name = %s", cluster)
	}
}
