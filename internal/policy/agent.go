package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Agent is what the agent's permissions depend on.
type Agent struct {
	Partition string // aws, aws-cn or aws-us-gov
	Region    string
	Account   string
	Cluster   string
	// NodeRoles are the ARNs of the roles that its machines may have.
	NodeRoles []string
	// Queue is the ARN of the interruption queue, empty without one.
	Queue string
	// NodePools says that it serves NodePools, and may take over the machines of Karpenter.
	NodePools bool
}

// The names of the agent's policies.
const (
	LaunchPolicy    = "packhorse-launch"
	TakeoverPolicy  = "packhorse-takeover"
	TerminatePolicy = "packhorse-terminate"
	ReadPolicy      = "packhorse-read"
	NodeRolePolicy  = "packhorse-node-role"
	QueuePolicy     = "packhorse-queue"
)

// Names are those of all policies that the agent may have, in the order of a machine's life.
var Names = []string{LaunchPolicy, TakeoverPolicy, TerminatePolicy, ReadPolicy, NodeRolePolicy, QueuePolicy}

// Policies returns the agent's least-privilege policies by name. Each fits into a managed policy, and all of them together
// into the inline policies of one role. Whatever changes something is bound to
// the cluster's tags. A wildcard in a name would undo that, and is refused.
func (a Agent) Policies() (map[string]string, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	parts := []struct {
		name       string
		statements []statement
	}{
		{LaunchPolicy, a.launch()},
		{TakeoverPolicy, a.takeOver()},
		{TerminatePolicy, a.terminate()},
		{ReadPolicy, a.read()},
		{NodeRolePolicy, a.nodeRole()},
		{QueuePolicy, a.queue()},
	}
	out, total := map[string]string{}, 0
	for _, part := range parts {
		if len(part.statements) == 0 {
			continue
		}
		rendered, err := render(part.name, MaxManaged, part.statements...)
		if err != nil {
			return nil, err
		}
		total += Size(rendered)
		out[part.name] = rendered
	}
	if total > MaxInline {
		return nil, fmt.Errorf("the agent's policies have %d characters, IAM takes at most %d per role: name fewer node roles", total, MaxInline)
	}
	return out, nil
}

func (a Agent) check() error {
	checks := []formed{
		{"partition", a.Partition, Partition}, {"region", a.Region, Region}, {"account", a.Account, Account}, {"cluster", a.Cluster, ClusterName},
	}
	for _, role := range a.NodeRoles {
		checks = append(checks, formed{"node role", role, RoleARN})
	}
	if a.Queue != "" {
		checks = append(checks, formed{"interruption queue", a.Queue, QueueARN})
	}
	return checkAll(checks...)
}

func (a Agent) launch() []statement {
	create := values{"ec2:CreateFleet", "ec2:RunInstances"}
	machines, interfaces := a.ec2("fleet", "instance", "volume"), a.ec2("network-interface")
	spotRequests := a.ec2("spot-instances-request")
	return []statement{
		allow("UseImagesAndNetworks", create,
			append(a.shared("image", "snapshot", "capacity-reservation", "subnet", "security-group"), a.ec2("key-pair", "placement-group")...), nil),
		// Only a launch template can tag them, which one for both capacity types cannot do.
		allow("RequestSpot", create, spotRequests, nil),
		allow("UseOwnTemplates", create, a.ec2("launch-template"), map[string]condition{
			"StringEquals":         a.owned("aws:ResourceTag/"),
			"StringEqualsIfExists": a.managed("aws:ResourceTag/"),
		}),
		allow("LaunchTagged", create, machines, a.tagged("aws:RequestTag/")),
		// Only a launch template can tag them, which may be one of the user's own for several Provisioners.
		allow("CreateTaggedInterfaces", create, interfaces, map[string]condition{"StringEquals": a.owned("aws:RequestTag/")}),
		allow("CreateTaggedTemplates", values{"ec2:CreateLaunchTemplate"}, a.ec2("launch-template"), map[string]condition{
			"StringEquals": a.marked("aws:RequestTag/"),
		}),
		allow("TagWhatIsCreated", values{"ec2:CreateTags"}, slices.Concat(machines, interfaces, spotRequests, a.ec2("launch-template")), map[string]condition{
			"StringEquals": {
				a.clusterTag("aws:RequestTag/"): {"owned"},
				"ec2:CreateAction":              {"CreateFleet", "CreateLaunchTemplate", "RunInstances"},
			},
		}),
		// Whatever remains of a machine's tags has to say that it is the cluster's. Karpenter before 1.0 sets
		// karpenter.sh/managed-by too.
		a.restoreTags("RestoreClusterTag", map[string]condition{
			"StringEquals": a.managed("aws:ResourceTag/"),
			"Null":         {"aws:ResourceTag/" + api.LabelNodePool: {"true"}},
		}),
		a.restoreTags("RestoreOtherTags", map[string]condition{
			"StringEquals":         a.owned("aws:ResourceTag/"),
			"StringEqualsIfExists": a.managed("aws:ResourceTag/"),
			"StringLike":           {"aws:ResourceTag/" + api.LabelProvisioner: {"*"}},
		}),
	}
}

// takeOver allows the machines of this cluster that Karpenter has launched, and no others, to become the agent's.
func (a Agent) takeOver() []statement {
	if !a.NodePools {
		return nil
	}
	return []statement{
		a.restoreTags("TakeOverMachines", map[string]condition{
			"StringEquals": a.owned("aws:ResourceTag/"),
			"StringEqualsIfExists": {
				"aws:ResourceTag/" + api.TagManagedBy:  {a.Cluster}, // of Karpenter before 1.0
				"aws:ResourceTag/" + api.TagEKSCluster: {a.Cluster}, // and of later releases
			},
			"StringLike": {"aws:ResourceTag/" + api.LabelNodePool: {"*"}},
		}),
		// EC2 removes all tags if the request names none, which ForAllValues alone would allow.
		allow("DisownMachines", values{"ec2:DeleteTags"}, a.ec2("instance"), map[string]condition{
			"StringEquals":              a.marked("aws:ResourceTag/"),
			"StringLike":                {"aws:ResourceTag/" + api.LabelProvisioner: {"*"}},
			"ForAllValues:StringEquals": {"aws:TagKeys": {api.LabelNodePool}},
			"Null":                      {"aws:TagKeys": {"false"}},
		}),
	}
}

// restoreTags allows a machine's own marks to be put back where the conditions hold.
func (a Agent) restoreTags(sid string, conditions map[string]condition) statement {
	maps.Copy(conditions["StringEquals"], a.marked("aws:RequestTag/"))
	conditions["ForAllValues:StringEquals"] = condition{
		"aws:TagKeys": {api.TagManagedBy, api.LabelProvisioner, a.clusterTag(""), api.TagLaunchID},
	}
	return allow(sid, values{"ec2:CreateTags"}, a.ec2("instance"), conditions)
}

func (a Agent) terminate() []statement {
	return []statement{
		allow("TerminateOwnMachines", values{"ec2:TerminateInstances"}, a.ec2("instance"), a.tagged("aws:ResourceTag/")),
		allow("DeleteOwnTemplates", values{"ec2:DeleteLaunchTemplate"}, a.ec2("launch-template"), map[string]condition{
			"StringEquals": a.marked("aws:ResourceTag/"),
		}),
	}
}

func (a Agent) read() []statement {
	return []statement{
		allow("ReadMachinesAndNetworks", values{
			"ec2:DescribeAvailabilityZones",
			"ec2:DescribeCapacityReservations",
			"ec2:DescribeImages",
			"ec2:DescribeInstanceTypeOfferings",
			"ec2:DescribeInstanceTypes",
			"ec2:DescribeInstances",
			"ec2:DescribeLaunchTemplates",
			"ec2:DescribeSecurityGroups",
			"ec2:DescribeSpotPriceHistory",
			"ec2:DescribeSubnets",
		}, values{"*"}, map[string]condition{"StringEquals": {"aws:RequestedRegion": {a.Region}}}),
		allow("ReadImageParameters", values{"ssm:GetParameters"},
			values{fmt.Sprintf("arn:%s:ssm:%s::parameter/aws/service/*", a.Partition, a.Region)}, nil),
		allow("ReadPrices", values{"pricing:GetProducts"}, values{"*"}, nil),
		allow("ReadCluster", values{"eks:DescribeCluster"},
			values{ClusterARN(a.Partition, a.Region, a.Account, a.Cluster)}, nil),
	}
}

func (a Agent) nodeRole() []statement {
	if len(a.NodeRoles) == 0 {
		return nil
	}
	return []statement{
		allow("GiveNodesTheirRole", values{"iam:PassRole"}, a.NodeRoles, map[string]condition{
			"StringEquals": {"iam:PassedToService": {ec2Service(a.Partition)}},
		}),
		allow("FindInstanceProfiles", values{"iam:ListInstanceProfilesForRole"}, a.NodeRoles, nil),
	}
}

func (a Agent) queue() []statement {
	if a.Queue == "" {
		return nil
	}
	return []statement{allow("ReadInterruptions",
		values{"sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"}, values{a.Queue}, nil)}
}

// ec2 returns the ARN patterns of the account's resources of the types.
func (a Agent) ec2(types ...string) values {
	out := make(values, len(types))
	for i, t := range types {
		out[i] = fmt.Sprintf("arn:%s:ec2:%s:%s:%s/*", a.Partition, a.Region, a.Account, t)
	}
	return out
}

// shared returns the ARN patterns of resources that other accounts may own.
func (a Agent) shared(types ...string) values {
	a.Account = "*"
	return a.ec2(types...)
}

func (a Agent) clusterTag(prefix string) string { return prefix + api.TagClusterPrefix + a.Cluster }

// owned demands the cluster's ownership tag. IAM compares the keys of tags without regard to
// case, and there may be clusters whose names differ only in case.
func (a Agent) owned(prefix string) condition { return condition{a.clusterTag(prefix): {"owned"}} }

// managed demands the tag that has the cluster's name as its value, which is compared exactly.
func (a Agent) managed(prefix string) condition {
	return condition{prefix + api.TagManagedBy: {a.Cluster}}
}

// marked demands both tags of ownership.
func (a Agent) marked(prefix string) condition {
	return condition{a.clusterTag(prefix): {"owned"}, prefix + api.TagManagedBy: {a.Cluster}}
}

// tagged demands the tags of ownership and that some Provisioner is named.
func (a Agent) tagged(prefix string) map[string]condition {
	return map[string]condition{
		"StringEquals": a.marked(prefix),
		"StringLike":   {prefix + api.LabelProvisioner: {"*"}},
	}
}

// RoleNames returns the names of roles of an account such as arn:aws:iam::123456789012. Others, and roles with a
// path, which a name does not tell, keep their ARNs.
func RoleNames(arns []string, account string) []string {
	out := append([]string{}, arns...)
	for i, arn := range arns {
		if name, ok := strings.CutPrefix(arn, account+":role/"); ok && !strings.Contains(name, "/") {
			out[i] = name
		}
	}
	return out
}

// ParseAgent finds in the agent's policies, by name, what they depend on beside
// the account: the cluster, the node roles, the queue and whether it serves NodePools.
// What the policies do not say stays empty.
func ParseAgent(policies map[string]string) Agent {
	var a Agent
	for _, raw := range policies {
		var doc document
		if json.Unmarshal([]byte(raw), &doc) != nil {
			continue
		}
		for _, s := range doc.Statement {
			switch {
			case slices.Contains(s.Action, "iam:PassRole"):
				a.NodeRoles = s.Resource
			case slices.Contains(s.Action, "ec2:DeleteTags"):
				a.NodePools = true
			case slices.Contains(s.Action, "sqs:ReceiveMessage") && len(s.Resource) == 1:
				a.Queue = s.Resource[0]
			case slices.Contains(s.Action, "eks:DescribeCluster") && len(s.Resource) == 1:
				_, a.Cluster, _ = strings.Cut(s.Resource[0], ":cluster/")
			}
		}
	}
	return a
}
