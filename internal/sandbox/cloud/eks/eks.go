// Package eks is a model of EKS with one cluster.
package eks

import (
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/autoscaling"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// EKS is the service with the one cluster.
type EKS struct {
	*account.Account
	iam          *iam.IAM
	ec2          *ec2.EC2
	autoscaling  *autoscaling.AutoScaling
	Entries      map[string]*AccessEntry // by principal ARN
	Associations map[string]*Association // by id
	NodeGroups   map[string]NodeGroup    // by name
}

// New returns the service with an access entry for the role of nodes.
func New(a *account.Account, i *iam.IAM, e *ec2.EC2, s *autoscaling.AutoScaling) *EKS {
	c := &EKS{
		Account: a, iam: i, ec2: e, autoscaling: s,
		Entries: map[string]*AccessEntry{}, Associations: map[string]*Association{}, NodeGroups: map[string]NodeGroup{},
	}
	role := a.IAMARN("role/" + iam.DefaultNodeRole)
	c.Entries[role] = &AccessEntry{
		Principal: role, Kind: "EC2_LINUX", Username: "system:node:{{EC2PrivateDNSName}}",
		Groups: []string{"system:nodes"}, Created: a.Now(), Modified: a.Now(),
	}
	return c
}

// Service returns the calls that it answers.
func (c *EKS) Service() *account.Service {
	words := account.JSONDialect()
	words.DeniedStatus = http.StatusForbidden
	s := &account.Service{
		Route:      route,
		Name:       "eks",
		Protocol:   account.JSONProtocol{Names: wire.CamelNames, ContentType: "application/json"},
		Words:      words,
		Operations: map[string]account.Operation{},
	}
	account.AddOn(s, c, onCluster, account.Found(clusterIn, (*EKS).describeCluster))
	account.AddOn(s, c, onCluster, account.Found(clusterIn, (*EKS).listNodegroups))
	account.AddOn(s, c, onCluster, account.Found(clusterIn, (*EKS).describeNodegroup))
	account.AddOn(s, c, onCluster, account.Found(clusterIn, (*EKS).listAccessEntries))
	account.AddOn(s, c, onNewEntry, account.Found(clusterIn, (*EKS).createAccessEntry))
	account.AddOn(s, c, onAccessEntry, account.Found(entryIn, (*EKS).describeAccessEntry))
	account.AddOn(s, c, onAccessEntry, account.Found(entryIn, (*EKS).updateAccessEntry))
	account.AddOn(s, c, onAccessEntry, account.Found(entryIn, (*EKS).deleteAccessEntry))
	account.AddOn(s, c, onTagged, account.Found(tagsIn, (*EKS).tagEKS))
	account.AddOn(s, c, onTagged, account.Found(tagsIn, (*EKS).untagEKS))
	addPodIdentity(s, c)
	return s
}

// eksPaths are the REST paths; a segment in braces is a label.
var eksPaths = []struct{ method, path, name string }{
	{http.MethodGet, "/clusters/{name}", "DescribeCluster"},
	{http.MethodGet, "/clusters/{clusterName}/node-groups", "ListNodegroups"},
	{http.MethodGet, "/clusters/{clusterName}/node-groups/{nodegroupName}", "DescribeNodegroup"},
	{http.MethodGet, "/clusters/{clusterName}/pod-identity-associations", "ListPodIdentityAssociations"},
	{http.MethodPost, "/clusters/{clusterName}/pod-identity-associations", "CreatePodIdentityAssociation"},
	{http.MethodGet, "/clusters/{clusterName}/pod-identity-associations/{associationId}", "DescribePodIdentityAssociation"},
	{http.MethodPost, "/clusters/{clusterName}/pod-identity-associations/{associationId}", "UpdatePodIdentityAssociation"},
	{http.MethodDelete, "/clusters/{clusterName}/pod-identity-associations/{associationId}", "DeletePodIdentityAssociation"},
	{http.MethodGet, "/clusters/{clusterName}/access-entries", "ListAccessEntries"},
	{http.MethodPost, "/clusters/{clusterName}/access-entries", "CreateAccessEntry"},
	{http.MethodGet, "/clusters/{clusterName}/access-entries/{principalArn}", "DescribeAccessEntry"},
	{http.MethodPost, "/clusters/{clusterName}/access-entries/{principalArn}", "UpdateAccessEntry"},
	{http.MethodDelete, "/clusters/{clusterName}/access-entries/{principalArn}", "DeleteAccessEntry"},
	{http.MethodPost, "/tags/{resourceArn}", "TagResource"},
	{http.MethodDelete, "/tags/{resourceArn}", "UntagResource"},
}

// route finds the call that a REST request stands for, and its labels. The
// name is empty if there is none.
func route(method string, u *url.URL) (name string, labels map[string]string) {
	have := strings.Split(u.EscapedPath(), "/")
	for _, route := range eksPaths {
		want := strings.Split(route.path, "/")
		if route.method != method || len(want) != len(have) {
			continue
		}
		if labels, ok := matchSegments(want, have); ok {
			return route.name, labels
		}
	}
	return "", nil
}

func matchSegments(want, have []string) (map[string]string, bool) {
	labels := map[string]string{}
	for i, segment := range want {
		if !strings.HasPrefix(segment, "{") {
			if segment != have[i] {
				return nil, false
			}
			continue
		}
		value, err := url.PathUnescape(have[i])
		if err != nil || value == "" {
			return nil, false
		}
		labels[strings.Trim(segment, "{}")] = value
	}
	return labels, true
}

func (c *EKS) clusterARN(name string) string {
	return "arn:aws:eks:" + c.Region + ":" + c.AccountID + ":cluster/" + name
}

// clusterMember returns the name of the cluster that an input is about.
func clusterMember(input any) string {
	if name := account.TextMember(input, "ClusterName"); name != "" {
		return name
	}
	return account.TextMember(input, "Name")
}

func onCluster[In any](action string) func(*EKS, *In) []account.Access {
	return func(c *EKS, input *In) []account.Access {
		return []account.Access{{Action: action, Resource: c.clusterARN(clusterMember(input))}}
	}
}

func onNewEntry(action string) func(*EKS, *eks.CreateAccessEntryInput) []account.Access {
	return func(c *EKS, input *eks.CreateAccessEntryInput) []account.Access {
		need := account.Access{Action: action, Resource: c.clusterARN(clusterMember(input))}
		if input.Type != nil {
			need.Context = map[string][]string{"eks:accessEntryType": {*input.Type}}
		}
		return []account.Access{need}
	}
}

func onAccessEntry[In any](action string) func(*EKS, *In) []account.Access {
	return func(c *EKS, input *In) []account.Access {
		arn := account.TextMember(input, "PrincipalArn")
		kind, name := "role", arn[strings.LastIndex(arn, "/")+1:]
		if strings.Contains(arn, ":user/") {
			kind = "user"
		}
		resource := "arn:aws:eks:" + c.Region + ":" + c.AccountID + ":access-entry/" + clusterMember(input) + "/" + kind + "/" + c.AccountID + "/" + name + "/*"
		keys := map[string][]string{"eks:principalArn": {arn}}
		if e := c.Entries[arn]; e != nil {
			return []account.Access{{Action: action, Resource: resource, Context: account.Merge(keys, account.ResourceTags("", e.tags))}}
		}
		return []account.Access{{Action: action, Resource: resource, Context: keys}}
	}
}

// clusterIn returns ResourceNotFoundException if the cluster that an input names is not ours.
func clusterIn[In any](c *EKS, in *In) (*account.Cluster, error) {
	name := cmp.Or(account.TextMember(in, "ClusterName"), account.TextMember(in, "Name"))
	if name != c.Cluster.Name {
		return nil, account.Fail("ResourceNotFoundException", "No cluster found for name: %s.", name).With(http.StatusNotFound)
	}
	return &c.Cluster, nil
}

// page returns the part of a list that a token and a limit ask for.
func page[T any](items []T, token *string, most *int32) (part []T, next *string, err error) {
	if part, next, err = account.Page(items, token, most, 100); err != nil {
		err = account.Fail("InvalidParameterException", "The nextToken is invalid.")
	}
	return part, next, err
}

func (c *EKS) describeCluster(_ *account.Cluster, _ *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
	var subnets []string
	for _, id := range account.SortedKeys(c.ec2.Network.Subnets) {
		if !c.ec2.Network.Subnets[id].Public {
			subnets = append(subnets, id)
		}
	}
	group := account.FixedID("sg", c.Region+c.AccountID+"node")
	created := c.Admin.Created
	return &eks.DescribeClusterOutput{Cluster: &types.Cluster{
		Name: &c.Cluster.Name, Arn: aws.String(c.clusterARN(c.Cluster.Name)), Version: &c.Cluster.Version, PlatformVersion: aws.String("eks.1"),
		Endpoint: &c.Cluster.Endpoint, Status: types.ClusterStatusActive, CreatedAt: &created, RoleArn: aws.String(c.IAMARN("role/eks-cluster")),
		CertificateAuthority:    &types.Certificate{Data: aws.String(base64.StdEncoding.EncodeToString(c.Cluster.CA))},
		Identity:                &types.Identity{Oidc: &types.OIDC{Issuer: &c.Cluster.IssuerURL}},
		AccessConfig:            &types.AccessConfigResponse{AuthenticationMode: types.AuthenticationModeApi, BootstrapClusterCreatorAdminPermissions: aws.Bool(true)},
		KubernetesNetworkConfig: c.networkConfig(),
		ResourcesVpcConfig: &types.VpcConfigResponse{
			VpcId: &c.ec2.Network.VPC, SubnetIds: subnets, SecurityGroupIds: []string{group}, ClusterSecurityGroupId: &group,
			EndpointPublicAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
		},
		Tags: map[string]string{},
	}}, nil
}

// networkConfig is of the family that the range of Services has.
func (c *EKS) networkConfig() *types.KubernetesNetworkConfigResponse {
	if prefix, err := netip.ParsePrefix(c.Cluster.ServiceCIDR); err == nil && prefix.Addr().Is6() {
		return &types.KubernetesNetworkConfigResponse{ServiceIpv6Cidr: &c.Cluster.ServiceCIDR, IpFamily: types.IpFamilyIpv6}
	}
	return &types.KubernetesNetworkConfigResponse{ServiceIpv4Cidr: &c.Cluster.ServiceCIDR, IpFamily: types.IpFamilyIpv4}
}

// AccessEntry gives an IAM principal a name and groups in the cluster.
type AccessEntry struct {
	Principal string // ARN of a role or user
	Kind      string // "STANDARD", "EC2_LINUX", …
	Username  string
	Groups    []string
	Created   time.Time
	Modified  time.Time
	tags      map[string]string
}

// entryIn finds the access entry that an input names.
func entryIn[In any](c *EKS, in *In) (*AccessEntry, error) {
	if _, err := clusterIn(c, in); err != nil {
		return nil, err
	}
	e := c.Entries[account.TextMember(in, "PrincipalArn")]
	if e == nil {
		return nil, account.Fail("ResourceNotFoundException", "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.").With(http.StatusNotFound)
	}
	return e, nil
}

func (c *EKS) createAccessEntry(_ *account.Cluster, in *eks.CreateAccessEntryInput) (*eks.CreateAccessEntryOutput, error) {
	principal := account.Deref(in.PrincipalArn)
	if c.iam.RoleByARN(principal) == nil && principal != c.Admin.Who.ARN {
		return nil, account.Fail("InvalidParameterException", "The specified principalArn is invalid: invalid principal.")
	}
	if c.Entries[principal] != nil {
		return nil, account.Fail("ResourceInUseException", "The specified access entry resource is already in use on this cluster.").With(http.StatusConflict)
	}
	e := &AccessEntry{
		Principal: principal, Kind: account.Deref(in.Type), Username: account.Deref(in.Username), Groups: in.KubernetesGroups,
		Created: c.Now(), Modified: c.Now(), tags: maps.Clone(in.Tags),
	}
	if err := e.complete(); err != nil {
		return nil, err
	}
	c.Entries[principal] = e
	return &eks.CreateAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

// complete fills in what the type of entry implies. Nodes get their name and
// groups from their type and may not choose.
func (e *AccessEntry) complete() error {
	if e.Kind == "" {
		e.Kind = "STANDARD"
	}
	switch e.Kind {
	case "STANDARD":
		for _, group := range e.Groups {
			if strings.HasPrefix(group, "system:") {
				return account.Fail("InvalidParameterException", "The kubernetes group name %s is invalid, it cannot start with system:", group)
			}
		}
		if e.Username == "" {
			e.Username = e.Principal
			if name := roleNameOf(e.Principal); name != "" {
				e.Username = strings.Replace(strings.SplitN(e.Principal, ":role/", 2)[0], ":iam:", ":sts:", 1) + ":assumed-role/" + name + "/{{SessionName}}"
			}
		}
		return nil
	case "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX":
		if len(e.Groups) > 0 || e.Username != "" {
			return account.Fail("InvalidParameterException", "The username and kubernetes groups cannot be set for an access entry of type %s.", e.Kind)
		}
		e.Username, e.Groups = "system:node:{{EC2PrivateDNSName}}", []string{"system:nodes"}
		if e.Kind == "EC2_WINDOWS" {
			e.Groups = append(e.Groups, "eks:kube-proxy-windows")
		}
		return nil
	}
	return account.Fail("InvalidParameterException", "The specified access entry type %s is invalid.", e.Kind)
}

// roleNameOf returns the name of the role in an ARN, without its path.
func roleNameOf(arn string) string {
	_, name, found := strings.Cut(arn, ":role/")
	if !found {
		return ""
	}
	return name[strings.LastIndex(name, "/")+1:]
}

func (c *EKS) describedEntry(e *AccessEntry) *types.AccessEntry {
	return &types.AccessEntry{
		ClusterName: &c.Cluster.Name, PrincipalArn: &e.Principal, Type: &e.Kind, Username: &e.Username, KubernetesGroups: slices.Clone(e.Groups),
		CreatedAt: &e.Created, ModifiedAt: &e.Modified, Tags: e.tags,
		AccessEntryArn: aws.String(c.entryARN(e)),
	}
}

func (c *EKS) describeAccessEntry(e *AccessEntry, _ *eks.DescribeAccessEntryInput) (*eks.DescribeAccessEntryOutput, error) {
	return &eks.DescribeAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

func (c *EKS) updateAccessEntry(e *AccessEntry, in *eks.UpdateAccessEntryInput) (*eks.UpdateAccessEntryOutput, error) {
	changed := *e
	if in.KubernetesGroups != nil {
		changed.Groups = in.KubernetesGroups
	}
	if in.Username != nil {
		changed.Username = *in.Username
	}
	if err := changed.complete(); err != nil {
		return nil, err
	}
	changed.Modified = c.Now()
	*e = changed
	return &eks.UpdateAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

func (c *EKS) deleteAccessEntry(e *AccessEntry, _ *eks.DeleteAccessEntryInput) (*eks.DeleteAccessEntryOutput, error) {
	delete(c.Entries, e.Principal)
	return &eks.DeleteAccessEntryOutput{}, nil
}

func (c *EKS) listAccessEntries(_ *account.Cluster, in *eks.ListAccessEntriesInput) (*eks.ListAccessEntriesOutput, error) {
	part, next, err := page(account.SortedKeys(c.Entries), in.NextToken, in.MaxResults)
	return &eks.ListAccessEntriesOutput{AccessEntries: part, NextToken: next}, err
}
