package iam

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// Directory is what IAM knows.
type Directory struct {
	Roles     map[string]*Role            // by name
	policies  map[string]*managedPolicy   // by ARN
	Providers map[string]*oidcProvider    // by ARN
	deleted   map[string]*oidcProvider    // by ARN, the last one of each
	Profiles  map[string]*instanceProfile // by name
}

// Role is an IAM role with its trust policy and what it may do.
type Role struct {
	Name, path, ID string
	description    string
	created        time.Time
	trust          string
	TrustDocument  policy.Document
	MaxSession     int32 // seconds
	boundary       string
	tags           map[string]string
	inline         map[string]inlinePolicy
	attached       []string // ARNs, sorted
}

type inlinePolicy struct {
	text     string
	document policy.Document
	made     time.Time
}

// managedPolicy is a policy of AWS.
type managedPolicy struct {
	name     string
	document policy.Document
}

type oidcProvider struct {
	url         string // without the scheme
	ClientIDs   []string
	thumbprints []string
	created     time.Time
	deleted     time.Time
	tags        map[string]string
}

type instanceProfile struct {
	name, path, id string
	created        time.Time
	Roles          []string // at most one
	tags           map[string]string
	Changed        time.Time
}

// DefaultNodeRole is the name of the node role that exists from the start, and of the
// instance profile that holds it.
const DefaultNodeRole = "packhorse-node"

// newDirectory returns the policies of AWS that nodes need and a node role
// with its instance profile.
func newDirectory(c *IAM) *Directory {
	d := &Directory{
		Roles:     map[string]*Role{},
		policies:  map[string]*managedPolicy{},
		Providers: map[string]*oidcProvider{},
		deleted:   map[string]*oidcProvider{},
		Profiles:  map[string]*instanceProfile{},
	}
	for _, known := range awsManagedPolicies() {
		d.addAWSPolicy(known.name, known.document)
	}
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	document, err := policy.Parse(trust, policy.Trust)
	if err != nil {
		panic("the built-in trust policy does not parse: " + err.Error())
	}
	d.Roles[DefaultNodeRole] = &Role{
		Name: DefaultNodeRole, path: "/", ID: "AROA" + c.NewToken(17), created: c.Now(), trust: trust, TrustDocument: document,
		MaxSession: 3600, tags: map[string]string{}, inline: map[string]inlinePolicy{},
		attached: []string{
			awsPolicyARN("AmazonEC2ContainerRegistryPullOnly"), awsPolicyARN("AmazonEKSWorkerNodePolicy"), awsPolicyARN("AmazonEKS_CNI_Policy"),
		},
	}
	d.Profiles[DefaultNodeRole] = &instanceProfile{
		name: DefaultNodeRole, path: "/", id: "AIPA" + c.NewToken(17), created: c.Now(), Roles: []string{DefaultNodeRole}, tags: map[string]string{},
	}
	return d
}

func awsPolicyARN(name string) string { return "arn:aws:iam::aws:policy/" + name }

// awsManagedPolicies are short versions of policies that AWS provides, for nodes
// and for what the examples give to pods.
func awsManagedPolicies() []struct{ name, document string } {
	statement := func(actions string) string {
		return `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":[` + actions + `],"Resource":"*"}]}`
	}
	return []struct{ name, document string }{
		{"AmazonEKSWorkerNodePolicy", statement(`"ec2:DescribeInstances","ec2:DescribeInstanceTypes","eks:DescribeCluster","eks-auth:AssumeRoleForPodIdentity"`)},
		{"AmazonEKS_CNI_Policy", statement(`"ec2:AssignPrivateIpAddresses","ec2:AttachNetworkInterface","ec2:CreateNetworkInterface","ec2:DescribeInstances","ec2:DescribeSubnets"`)},
		{"AmazonEC2ContainerRegistryPullOnly", statement(`"ecr:GetAuthorizationToken","ecr:BatchImportUpstreamImage","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer"`)},
		{"AmazonEC2ContainerRegistryReadOnly", statement(`"ecr:GetAuthorizationToken","ecr:BatchCheckLayerAvailability","ecr:BatchGetImage","ecr:GetDownloadUrlForLayer","ecr:DescribeImages"`)},
		{"AmazonSSMManagedInstanceCore", statement(`"ssm:UpdateInstanceInformation","ssmmessages:OpenDataChannel","ec2messages:GetMessages"`)},
		{"AmazonS3ReadOnlyAccess", statement(`"s3:Get*","s3:List*","s3:Describe*"`)},
		{"AdministratorAccess", statement(`"*"`)},
	}
}

func (d *Directory) addAWSPolicy(name, text string) {
	document, err := policy.Parse(text, policy.Identity)
	if err != nil {
		panic("the built-in policy " + name + " does not parse: " + err.Error())
	}
	d.policies[awsPolicyARN(name)] = &managedPolicy{name, document}
}

// RoleARN returns the ARN of a role of the account.
func (c *IAM) RoleARN(r *Role) string { return c.IAMARN("role" + r.path + r.Name) }

// ProfileARN returns the ARN of the instance profile of that name, with the path "/" if
// there is no such profile. For the empty name it returns "".
func (c *IAM) ProfileARN(name string) string {
	if p := c.Directory.Profiles[name]; p != nil {
		return c.IAMARN("instance-profile" + p.path + p.name)
	}
	if name == "" {
		return ""
	}
	return c.IAMARN("instance-profile/" + name)
}

// Documents returns the policies that say what a role may do, and the one that says what it
// may do at most, if it has one.
func (c *IAM) Documents(roleName string) (documents []policy.Document, boundary *policy.Document) {
	r := c.Directory.Roles[roleName]
	if r == nil {
		return nil, nil
	}
	for _, name := range account.SortedKeys(r.inline) {
		if inline := r.inline[name]; !c.UnheardOf(inline.made) {
			documents = append(documents, inline.document)
		}
	}
	for _, arn := range r.attached {
		if p := c.Directory.policies[arn]; p != nil {
			documents = append(documents, p.document)
		}
	}
	if p := c.Directory.policies[r.boundary]; p != nil {
		boundary = &p.document
	}
	return documents, boundary
}

// ArnOf returns the ARN of the role of a name, if there is one.
func (c *IAM) ArnOf(name string) (arn string, ok bool) {
	r := c.Directory.Roles[name]
	if r == nil {
		return "", false
	}
	return c.RoleARN(r), true
}

// RoleByARN returns nil if there is no such role.
func (c *IAM) RoleByARN(arn string) *Role {
	for _, r := range c.Directory.Roles {
		if c.RoleARN(r) == arn && !c.UnheardOf(r.created) {
			return r
		}
	}
	return nil
}
