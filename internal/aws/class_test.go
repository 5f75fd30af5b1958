package aws

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
)

// classOf is a profile with the terms of an EC2NodeClass.
func classOf(edit func(*api.ClassTerms)) *api.NodeProfile {
	p := &api.NodeProfile{AMIFamily: new(api.FamilyAL2023), Class: &api.ClassTerms{}}
	edit(p.Class)
	return p
}

// Any of several terms may find subnets, security groups and images.
func TestTermsAreAlternatives(t *testing.T) {
	f := start(t)
	all := f.market(t, nil).Status
	if len(all.Subnets) < 2 {
		t.Fatalf("subnets: %+v", all.Subnets)
	}
	first, second := all.Subnets[0].ID, all.Subnets[1].ID
	m := f.market(t, classOf(func(c *api.ClassTerms) {
		c.Subnets = []map[string]string{{api.SelectorIDs: first}, {api.SelectorIDs: second}, {api.SelectorIDs: first}, {"no-such-tag": "x"}}
		c.SecurityGroups = []map[string]string{{api.SelectorGroupName: all.SecurityGroups[0].Name}, {"no-such-tag": "x"}}
	}))
	if got := m.Status.Subnets; len(got) != 2 || got[0].ID != first || got[1].ID != second {
		t.Errorf("subnets %+v, want %s and %s", got, first, second)
	}
	if got := m.Status.SecurityGroups; len(got) == 0 || got[0].Name != all.SecurityGroups[0].Name {
		t.Errorf("security groups by name: %+v", got)
	}
	f.account.AddImage("one", "x86_64", map[string]string{"team": "a"})
	two := f.account.AddImage("two", "arm64", nil)
	m = f.market(t, classOf(func(c *api.ClassTerms) {
		c.Images = []map[string]string{{"team": "a"}, {api.SelectorIDs: two}}
	}))
	if imageName(t, m, "m5.large") != "one" || imageName(t, m, "m6g.large") != "two" {
		t.Errorf("images %+v", m.Status.AMIs)
	}
	m = f.market(t, classOf(func(c *api.ClassTerms) {
		c.Images = []map[string]string{{api.SelectorParameter: imageParameter}}
	}))
	if !strings.Contains(imageName(t, m, "m5.large"), "x86_64-standard") {
		t.Errorf("the image of a parameter: %+v", m.Status.AMIs)
	}
}

// Tags of images that are named like labels say nothing about their machines, as with Karpenter since v1beta1.
func TestTagsOfImagesOfAClassAreNoRequirements(t *testing.T) {
	f := start(t)
	f.account.AddImage("mine", "x86_64", map[string]string{
		"team": "a", api.LabelInstanceType: "t3.large", api.LabelZone: "nowhere-1a", api.LabelCapacityType: api.CapacitySpot,
	})
	m := f.market(t, classOf(func(c *api.ClassTerms) { c.Images = []map[string]string{{"team": "a"}} }))
	if !has(m, "m5.large") || has(m, "m6g.large") {
		t.Errorf("an amd64 image is for m5.large: %t, for m6g.large: %t; blocked: %q", has(m, "m5.large"), has(m, "m6g.large"), m.Blocked)
	}
}

const imageParameter = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/x86_64/standard/recommended/image_id"

// TestParameterForms: SSM does not answer by the text that was asked for.
func TestParameterForms(t *testing.T) {
	f := start(t)
	for name, want := range map[string]string{
		imageParameter + ":1": "", "arn:aws:ssm:" + testRegion + "::parameter" + imageParameter: "", imageParameter + ":2": reasonNoImages,
	} {
		m := f.market(t, classOf(func(c *api.ClassTerms) { c.Images = []map[string]string{{api.SelectorParameter: name}} }))
		if m.BlockedReason != want {
			t.Errorf("%s: %s %q, want %q", name, m.BlockedReason, m.Blocked, want)
		}
	}
}

// TestSharedImages: a term of an EC2NodeClass finds what others share by tags, but not by a name
// alone. An AWSNodeTemplate needs aws::owners for either.
func TestSharedImages(t *testing.T) {
	f := start(t)
	const owner = "123412341234"
	f.account.ShareImage(f.account.AddImage("golden", "x86_64", map[string]string{"team": "a"}), owner)
	for name, c := range map[string]struct {
		selector        map[string]string
		class, template bool // whether one finds it
	}{
		"tags":            {map[string]string{"team": "a"}, true, false},
		"a name":          {map[string]string{api.SelectorAMIName: "golden"}, false, false},
		"a name and tags": {map[string]string{api.SelectorAMIName: "golden", "team": "a"}, false, false},
		"an owner":        {map[string]string{api.SelectorAMIName: "golden", api.SelectorAMIOwners: owner}, true, true},
		"tags of another": {map[string]string{"team": "a", api.SelectorAMIOwners: "self"}, false, false},
	} {
		of := func(p *api.NodeProfile) bool { return f.market(t, p).BlockedReason == "" }
		class := of(classOf(func(terms *api.ClassTerms) { terms.Images = []map[string]string{c.selector} }))
		template := of(&api.NodeProfile{AMIFamily: new(api.FamilyAL2023), AMISelector: c.selector})
		if class != c.class || template != c.template {
			t.Errorf("%s: an EC2NodeClass finds it: %t, and an AWSNodeTemplate: %t", name, class, template)
		}
	}
}

// The role's instance profile is not the agent's default one, whose role may be another: IAM
// knows it, and without one the field is named.
func TestRoleWithoutProfile(t *testing.T) {
	f := start(t)
	admin := iam.NewFromConfig(f.config)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	role := "team-node"
	must2(admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: &trust}))(t)
	blocked := func(f *fixture, role, want string) {
		t.Helper()
		m := f.market(t, classOf(func(c *api.ClassTerms) { c.Role = role }))
		if m.BlockedReason != reasonNoInstanceProfile || !strings.HasPrefix(m.Blocked, "spec.role: "+want) {
			t.Errorf("blocked: %s: %s, want %s", m.BlockedReason, m.Blocked, want)
		}
	}
	blocked(f, "nobody", "the account has no role nobody")
	blocked(f, role, "the role team-node has no instance profile")
	denied := f.restricted(t, `{"Effect":"Allow","Action":["ec2:*","ssm:*","eks:*"],"Resource":"*"}`)
	blocked(denied, role, "the agent may not look up the instance profile of role team-node: it lacks the permission iam:ListInstanceProfilesForRole")

	for name, path := range map[string]string{"a-made": "/karpenter/eu-west-1/prod/uid/", "own": "/"} {
		must2(admin.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: &path}))(t)
		must2(admin.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role}))(t)
	}
	f.clock.Step(time.Minute)
	if m := f.market(t, classOf(func(c *api.ClassTerms) { c.Role = role })); m.Blocked != "" {
		t.Fatalf("blocked: %s", m.Blocked)
	}
	found, err := f.roles.ProfileOf(t.Context(), role, "")
	if err != nil || found.Name != "own" {
		t.Errorf("found %+v, %v: Karpenter deletes its own with the EC2NodeClass", found, err)
	}
}

// What the status of an EC2NodeClass names may belong to an earlier role, because only a Karpenter that runs
// changes it.
func TestProfileOfAnEarlierRole(t *testing.T) {
	f := start(t)
	admin := iam.NewFromConfig(f.config)
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	for role, profiles := range map[string][]string{"earlier": {"noted"}, "current": {"first", "second"}} {
		must2(admin.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &role, AssumeRolePolicyDocument: &trust}))(t)
		for _, name := range profiles {
			must2(admin.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}))(t)
			must2(admin.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role}))(t)
		}
	}
	denied := f.restricted(t, `{"Effect":"Allow","Action":["ec2:*","ssm:*","eks:*","pricing:*"],"Resource":"*"}`)
	for name, c := range map[string]struct {
		f                 *fixture
		role, noted, want string
		warns             bool
	}{
		"noted for the role":       {f, "earlier", "noted", "noted", false},
		"the second of the role":   {f, "current", "second", "second", false},
		"noted for another role":   {f, "current", "noted", "first", false},
		"the role has no profile":  {f, "nobody", "noted", "", false},
		"IAM denies to look it up": {denied, "current", "noted", "noted", true},
	} {
		profile := classOf(func(c *api.ClassTerms) { c.Role = "" })
		profile.Class.Role, profile.InstanceProfile = c.role, &c.noted
		r, err := c.f.resolve(t.Context(), profile)
		if err != nil || r.instanceProfile != c.want || (r.blocked == "") != (c.want != "") {
			t.Errorf("%s: %q, blocked %q, %v; want %q", name, r.instanceProfile, r.blocked, err, c.want)
		}
		if found := c.f.market(t, profile).Findings.Error(); strings.Contains(found, "iam:ListInstanceProfilesForRole") != c.warns {
			t.Errorf("%s: findings %q", name, found)
		}
	}
}

// Whether machines get a public address is said of their first interface alone.
func TestPublicAddress(t *testing.T) {
	no := false
	for _, efas := range []int64{0, 2} {
		r := &resolved{profile: classOf(func(c *api.ClassTerms) { c.PublicAddress = &no }), cluster: &asset.Cluster{}, securityGroups: []lookup.SecurityGroup{{SecurityGroupStatus: api.SecurityGroupStatus{ID: "sg-1"}}}}
		data := &types.RequestLaunchTemplateData{}
		addInterfaces(data, r, build{efas: efas})
		for i, n := range data.NetworkInterfaces {
			if (n.AssociatePublicIpAddress != nil) != (i == 0) || n.Groups[0] != "sg-1" {
				t.Errorf("with %d adapters interface %d: %+v", efas, i, n)
			}
		}
		if len(data.NetworkInterfaces) != int(max(efas, 1)) || len(data.SecurityGroupIds) > 0 {
			t.Errorf("with %d adapters: %+v", efas, data)
		}
	}
}

// Where the first network card takes no adapter, the others have them all.
func TestAdaptersBesideAPlainCard(t *testing.T) {
	r := &resolved{profile: &api.NodeProfile{}, cluster: &asset.Cluster{}}
	data := &types.RequestLaunchTemplateData{}
	addInterfaces(data, r, build{efas: 16, plainFirst: true})
	if len(data.NetworkInterfaces) != 17 {
		t.Errorf("%d interfaces, want 17", len(data.NetworkInterfaces))
	}
	for i, n := range data.NetworkInterfaces {
		if (n.InterfaceType != nil) != (i > 0) || *n.NetworkCardIndex != int32(i) {
			t.Errorf("interface %d: %+v", i, n)
		}
	}
}
