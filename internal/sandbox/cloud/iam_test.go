package cloud

import (
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"

	iammodel "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
)

const (
	trustAccount = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`
	allowAll     = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
)

// role makes a role that the account may assume, with one inline policy.
func (f *fixture) role(t *testing.T, name, trust, document string) string {
	t.Helper()
	out := must2(f.iam.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust}))(t)
	if document != "" {
		must2(f.iam.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &name, PolicyName: aws.String("inline"), PolicyDocument: &document}))(t)
	}
	return *out.Role.Arn
}

func TestRoleLife(t *testing.T) {
	f, ctx := start(t), t.Context()
	created := must2(f.iam.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String("agent"), Path: aws.String("/packhorse/"), AssumeRolePolicyDocument: aws.String(trustAccount), Description: aws.String("of the agent"),
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("infra")}},
	}))(t)
	if *created.Role.Arn != "arn:aws:iam::123456789012:role/packhorse/agent" {
		t.Errorf("ARN = %s", *created.Role.Arn)
	}
	_, err := f.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("agent"), AssumeRolePolicyDocument: aws.String(trustAccount)})
	wantCode(t, err, "EntityAlreadyExists")

	got := must2(f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("agent")}))(t).Role
	if text, err := url.QueryUnescape(*got.AssumeRolePolicyDocument); err != nil || text != trustAccount || strings.Contains(*got.AssumeRolePolicyDocument, "{") {
		t.Errorf("trust policy = %s, want it URL-encoded", *got.AssumeRolePolicyDocument)
	}
	must2(f.iam.TagRole(ctx, &iam.TagRoleInput{RoleName: aws.String("agent"), Tags: []types.Tag{{Key: aws.String("env"), Value: aws.String("test")}}}))(t)
	must2(f.iam.UntagRole(ctx, &iam.UntagRoleInput{RoleName: aws.String("agent"), TagKeys: []string{"team"}}))(t)
	tags := must2(f.iam.ListRoleTags(ctx, &iam.ListRoleTagsInput{RoleName: aws.String("agent")}))(t).Tags
	if diff := cmp.Diff(map[string]string{"env": "test"}, iammodel.TagsOfIAM(tags)); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	must2(f.iam.UpdateRole(ctx, &iam.UpdateRoleInput{RoleName: aws.String("agent"), Description: aws.String("new"), MaxSessionDuration: aws.Int32(7200)}))(t)
	if got := must2(f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("agent")}))(t).Role; *got.Description != "new" || *got.MaxSessionDuration != 7200 {
		t.Errorf("role after update = %+v", got)
	}

	must2(f.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("p"), PolicyDocument: aws.String(allowAll)}))(t)
	inline := must2(f.iam.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("p")}))(t)
	if text, _ := url.QueryUnescape(*inline.PolicyDocument); text != allowAll {
		t.Errorf("inline policy = %s", text)
	}
	_, err = f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("agent")})
	wantCode(t, err, "DeleteConflict")
	must2(f.iam.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("p")}))(t)
	if names := must2(f.iam.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: aws.String("agent")}))(t).PolicyNames; len(names) != 0 {
		t.Errorf("inline policies = %v", names)
	}
	must2(f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("agent")}))(t)
	_, err = f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String("agent")})
	wantCode(t, err, "NoSuchEntity")
	var missing *types.NoSuchEntityException
	if !asError(err, &missing) {
		t.Errorf("the client does not know the error as its own type: %T", err)
	}
}

// A permissions boundary must be a policy, and nothing is allowed beyond it.
func TestPermissionsBoundary(t *testing.T) {
	f, ctx := start(t), t.Context()
	agent := f.as(t, f.role(t, "agent", trustAccount, allowAll))
	name, nodes := aws.String("agent"), aws.String("arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy")
	may := func() error {
		_, err := agent.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name})
		return err
	}
	_, err := f.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name})
	wantCode(t, err, "NoSuchEntity")
	_, err = f.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: aws.String("arn:aws:iam::123456789012:policy/none")})
	wantCode(t, err, "NoSuchEntity")
	_, err = f.iam.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String("other"), AssumeRolePolicyDocument: aws.String(trustAccount), PermissionsBoundary: aws.String("arn:aws:iam::123456789012:policy/none"),
	})
	wantCode(t, err, "NoSuchEntity")
	wantCode(t, may(), "")

	must2(f.iam.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: name, PermissionsBoundary: nodes}))(t)
	if got := must2(f.iam.GetRole(ctx, &iam.GetRoleInput{RoleName: name}))(t).Role.PermissionsBoundary; got == nil || *got.PermissionsBoundaryArn != *nodes {
		t.Errorf("boundary = %+v, want %s", got, *nodes)
	}
	wantCode(t, may(), "AccessDenied")
	if err := may(); !strings.Contains(err.Error(), "because no permissions boundary allows the iam:GetRole action") {
		t.Errorf("error = %v", err)
	}
	must2(agent.eks.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: aws.String("prod")}))(t)

	must2(f.iam.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: name}))(t)
	wantCode(t, may(), "")
}

func TestAttachedPolicies(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.role(t, "agent", trustAccount, "")
	arn := aws.String("arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore")
	must2(f.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("agent"), PolicyArn: arn}))(t)
	attached := must2(f.iam.ListAttachedRolePolicies(ctx, &iam.ListAttachedRolePoliciesInput{RoleName: aws.String("agent")}))(t).AttachedPolicies
	if len(attached) != 1 || *attached[0].PolicyName != "AmazonSSMManagedInstanceCore" {
		t.Errorf("attached = %+v", attached)
	}
	_, err := f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("agent")})
	wantCode(t, err, "DeleteConflict")
	_, err = f.iam.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String("agent"), PolicyArn: aws.String("arn:aws:iam::aws:policy/None")})
	wantCode(t, err, "NoSuchEntity")
	must2(f.iam.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String("agent"), PolicyArn: arn}))(t)
	must2(f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("agent")}))(t)
}

func TestIAMLimits(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.role(t, "agent", trustAccount, "")
	sized := func(characters int) *string {
		const frame = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"arn:aws:s3:::"}]}`
		return aws.String(strings.Replace(frame, `:::"`, ":::"+strings.Repeat("x", characters-len(frame))+"\" \n ", 1))
	}
	_, err := f.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("a"), PolicyDocument: sized(10_000)})
	wantCode(t, err, "")
	_, err = f.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("b"), PolicyDocument: sized(241)})
	wantCode(t, err, "LimitExceeded")
	for name, document := range map[string]string{"no JSON": "x", "no resource": `{"Statement":[{"Effect":"Allow","Action":"*"}]}`, "bad effect": `{"Statement":[{"Effect":"Maybe","Action":"*","Resource":"*"}]}`} {
		_, err = f.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("agent"), PolicyName: aws.String("c"), PolicyDocument: &document})
		if codeOf(err) != "MalformedPolicyDocument" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = f.iam.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("no spaces"), AssumeRolePolicyDocument: aws.String(trustAccount)})
	wantCode(t, err, "ValidationError")
}

func TestOpenIDConnectProviders(t *testing.T) {
	f, ctx := start(t), t.Context()
	thumbprint := strings.Repeat("ab", 20)
	arn := must2(f.iam.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String("https://oidc.example.com/id/1"), ClientIDList: []string{"sts.amazonaws.com"}, ThumbprintList: []string{thumbprint},
		Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
	}))(t).OpenIDConnectProviderArn
	if *arn != "arn:aws:iam::123456789012:oidc-provider/oidc.example.com/id/1" {
		t.Errorf("ARN = %s", *arn)
	}
	_, err := f.iam.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.example.com/id/1")})
	wantCode(t, err, "EntityAlreadyExists")
	_, err = f.iam.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{Url: aws.String("http://insecure")})
	wantCode(t, err, "ValidationError")
	got := must2(f.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))(t)
	if *got.Url != "oidc.example.com/id/1" || len(got.ThumbprintList) != 1 || len(got.Tags) != 1 || got.ClientIDList[0] != "sts.amazonaws.com" {
		t.Errorf("provider = %+v", got)
	}
	if list := must2(f.iam.ListOpenIDConnectProviders(ctx, &iam.ListOpenIDConnectProvidersInput{}))(t).OpenIDConnectProviderList; len(list) != 1 {
		t.Errorf("providers = %+v", list)
	}
	must2(f.iam.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}))(t)
	_, err = f.iam.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn})
	wantCode(t, err, "NoSuchEntity")
}

func TestInstanceProfiles(t *testing.T) {
	f, ctx := start(t), t.Context()
	f.role(t, "node", trustAccount, "")
	name := aws.String("node-profile")
	must2(f.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name}))(t)
	must2(f.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("node")}))(t)
	_, err := f.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("packhorse-node")})
	wantCode(t, err, "LimitExceeded")
	got := must2(f.iam.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: name}))(t).InstanceProfile
	if len(got.Roles) != 1 || *got.Roles[0].RoleName != "node" {
		t.Errorf("profile = %+v", got)
	}
	if list := must2(f.iam.ListInstanceProfilesForRole(ctx, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String("node")}))(t).InstanceProfiles; len(list) != 1 {
		t.Errorf("profiles of the role = %+v", list)
	}
	_, err = f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("node")})
	wantCode(t, err, "DeleteConflict")
	_, err = f.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "DeleteConflict")
	must2(f.iam.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("node")}))(t)
	must2(f.iam.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))(t)
	must2(f.iam.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String("node")}))(t)
}
