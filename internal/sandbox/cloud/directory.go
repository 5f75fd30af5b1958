package cloud

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// directory is what IAM knows.
type directory struct {
	roles     map[string]*role            // by name
	policies  map[string]*managedPolicy   // by ARN
	providers map[string]*oidcProvider    // by ARN
	profiles  map[string]*instanceProfile // by name
}

type role struct {
	name, path, id string
	description    string
	created        time.Time
	trust          string
	trustDocument  policy.Document
	maxSession     int32 // seconds
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

type managedPolicy struct {
	name, path, id, arn string
	description         string
	created, updated    time.Time
	tags                map[string]string
	versions            []policyVersion
	defaultVersion      string
	nextVersion         int
}

type policyVersion struct {
	id       string
	created  time.Time
	text     string
	document policy.Document
}

type oidcProvider struct {
	url         string // without the scheme
	clientIDs   []string
	thumbprints []string
	created     time.Time
	tags        map[string]string
}

type instanceProfile struct {
	name, path, id string
	created        time.Time
	roles          []string // at most one
	tags           map[string]string
	changed        time.Time
}

// The node role that exists from the start, and the profile that holds it.
const defaultNodeRole = "packhorse-node"

// newDirectory returns the policies of AWS that nodes need and a node role
// with its instance profile.
func newDirectory(c *Cloud) *directory {
	d := &directory{
		roles:     map[string]*role{},
		policies:  map[string]*managedPolicy{},
		providers: map[string]*oidcProvider{},
		profiles:  map[string]*instanceProfile{},
	}
	for _, known := range awsManagedPolicies() {
		d.addAWSPolicy(c, known.name, known.document)
	}
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	document, err := policy.Parse(trust, policy.Trust)
	if err != nil {
		panic("the built-in trust policy does not parse: " + err.Error())
	}
	d.roles[defaultNodeRole] = &role{
		name: defaultNodeRole, path: "/", id: "AROA" + c.newToken(17), created: c.now(), trust: trust, trustDocument: document,
		maxSession: 3600, tags: map[string]string{}, inline: map[string]inlinePolicy{},
		attached: []string{
			awsPolicyARN("AmazonEC2ContainerRegistryPullOnly"), awsPolicyARN("AmazonEKSWorkerNodePolicy"), awsPolicyARN("AmazonEKS_CNI_Policy"),
		},
	}
	d.profiles[defaultNodeRole] = &instanceProfile{
		name: defaultNodeRole, path: "/", id: "AIPA" + c.newToken(17), created: c.now(), roles: []string{defaultNodeRole}, tags: map[string]string{},
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

func (d *directory) addAWSPolicy(c *Cloud, name, text string) {
	document, err := policy.Parse(text, policy.Identity)
	if err != nil {
		panic("the built-in policy " + name + " does not parse: " + err.Error())
	}
	arn := awsPolicyARN(name)
	d.policies[arn] = &managedPolicy{
		name: name, path: "/", arn: arn, id: "ANPA" + c.newToken(17), created: c.now(), updated: c.now(), tags: map[string]string{},
		versions: []policyVersion{{id: "v1", created: c.now(), text: text, document: document}}, defaultVersion: "v1", nextVersion: 2,
	}
}

func (c *Cloud) roleARN(r *role) string { return c.iamARN("role" + r.path + r.name) }

func (c *Cloud) profileARN(name string) string {
	if p := c.iam.profiles[name]; p != nil {
		return c.iamARN("instance-profile" + p.path + p.name)
	}
	if name == "" {
		return ""
	}
	return c.iamARN("instance-profile/" + name)
}

// documents returns the policies that say what a role may do.
func (c *Cloud) documents(roleName string) []policy.Document {
	r := c.iam.roles[roleName]
	if r == nil {
		return nil
	}
	var documents []policy.Document
	for _, name := range sortedKeys(r.inline) {
		if inline := r.inline[name]; !c.unheardOf(inline.made) {
			documents = append(documents, inline.document)
		}
	}
	for _, arn := range r.attached {
		if p := c.iam.policies[arn]; p != nil {
			documents = append(documents, p.version(p.defaultVersion).document)
		}
	}
	return documents
}

// version returns nil if the policy has no such version.
func (p *managedPolicy) version(id string) *policyVersion {
	i := slices.IndexFunc(p.versions, func(v policyVersion) bool { return v.id == id })
	if i < 0 {
		return nil
	}
	return &p.versions[i]
}

// attachments counts the roles that a policy is attached to.
func (d *directory) attachments(arn string) int {
	count := 0
	for _, r := range d.roles {
		if slices.Contains(r.attached, arn) {
			count++
		}
	}
	return count
}
