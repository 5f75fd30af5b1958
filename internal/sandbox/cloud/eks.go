package cloud

import (
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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

func newEKS() *service {
	words := jsonDialect()
	words.deniedStatus = http.StatusForbidden
	s := &service{
		name:       "eks",
		protocol:   jsonProtocol{names: wire.CamelNames, contentType: "application/json"},
		words:      words,
		operations: map[string]operation{},
	}
	add(s, onAnything[eks.ListClustersInput]("eks:ListClusters"), (*Cloud).listClusters)
	add(s, onCluster[eks.DescribeClusterInput]("eks:DescribeCluster"), (*Cloud).describeCluster)
	add(s, onCluster[eks.ListNodegroupsInput]("eks:ListNodegroups"), (*Cloud).listNodegroups)
	add(s, onCluster[eks.DescribeNodegroupInput]("eks:DescribeNodegroup"), (*Cloud).describeNodegroup)
	add(s, onCluster[eks.ListAccessEntriesInput]("eks:ListAccessEntries"), (*Cloud).listAccessEntries)
	add(s, onCluster[eks.CreateAccessEntryInput]("eks:CreateAccessEntry"), (*Cloud).createAccessEntry)
	add(s, onAccessEntry[eks.DescribeAccessEntryInput]("eks:DescribeAccessEntry"), (*Cloud).describeAccessEntry)
	add(s, onAccessEntry[eks.UpdateAccessEntryInput]("eks:UpdateAccessEntry"), (*Cloud).updateAccessEntry)
	add(s, onAccessEntry[eks.DeleteAccessEntryInput]("eks:DeleteAccessEntry"), (*Cloud).deleteAccessEntry)
	add(s, onTagged[eks.TagResourceInput]("eks:TagResource"), (*Cloud).tagEKS)
	add(s, onTagged[eks.UntagResourceInput]("eks:UntagResource"), (*Cloud).untagEKS)
	addPodIdentity(s)
	return s
}

// eksPaths are the REST paths; a segment in braces is a label.
var eksPaths = []struct{ method, path, name string }{
	{http.MethodGet, "/clusters", "ListClusters"},
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

// eksRoute finds the call that a REST request stands for, and its labels. The
// name is empty if there is none.
func eksRoute(method string, u *url.URL) (name string, labels map[string]string) {
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

func (c *Cloud) clusterARN(name string) string {
	return "arn:aws:eks:" + c.region + ":" + c.account + ":cluster/" + name
}

// clusterMember returns the name of the cluster that an input is about.
func clusterMember(input any) string {
	if name := textMember(input, "ClusterName"); name != "" {
		return name
	}
	return textMember(input, "Name")
}

func onCluster[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		return []access{{action: action, resource: c.clusterARN(clusterMember(input))}}
	}
}

func onAccessEntry[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		arn := textMember(input, "PrincipalArn")
		kind, name := "role", arn[strings.LastIndex(arn, "/")+1:]
		if strings.Contains(arn, ":user/") {
			kind = "user"
		}
		resource := "arn:aws:eks:" + c.region + ":" + c.account + ":access-entry/" + clusterMember(input) + "/" + kind + "/" + c.account + "/" + name + "/*"
		keys := map[string][]string{"eks:principalArn": {arn}}
		if e := c.entries[arn]; e != nil {
			return []access{{action: action, resource: resource, context: merge(keys, resourceTags("", e.tags))}}
		}
		return []access{{action: action, resource: resource, context: keys}}
	}
}

// checkCluster returns ResourceNotFoundException for a cluster that is not
// ours.
func (c *Cloud) checkCluster(name *string) error {
	if deref(name) != c.cluster.Name {
		return fail("ResourceNotFoundException", "No cluster found for name: %s.", deref(name)).with(http.StatusNotFound)
	}
	return nil
}

func (c *Cloud) listClusters(*call, *eks.ListClustersInput) (*eks.ListClustersOutput, error) {
	return &eks.ListClustersOutput{Clusters: []string{c.cluster.Name}}, nil
}

func (c *Cloud) describeCluster(_ *call, in *eks.DescribeClusterInput) (*eks.DescribeClusterOutput, error) {
	if err := c.checkCluster(in.Name); err != nil {
		return nil, err
	}
	var subnets []string
	for _, id := range sortedKeys(c.network.subnets) {
		if !c.network.subnets[id].public {
			subnets = append(subnets, id)
		}
	}
	group := fixedID("sg", c.region+c.account+"node")
	created := c.admin.created
	return &eks.DescribeClusterOutput{Cluster: &types.Cluster{
		Name: &c.cluster.Name, Arn: aws.String(c.clusterARN(c.cluster.Name)), Version: &c.cluster.Version, PlatformVersion: aws.String("eks.1"),
		Endpoint: &c.cluster.Endpoint, Status: types.ClusterStatusActive, CreatedAt: &created, RoleArn: aws.String(c.iamARN("role/eks-cluster")),
		CertificateAuthority:    &types.Certificate{Data: aws.String(base64.StdEncoding.EncodeToString(c.cluster.CA))},
		Identity:                &types.Identity{Oidc: &types.OIDC{Issuer: &c.cluster.IssuerURL}},
		AccessConfig:            &types.AccessConfigResponse{AuthenticationMode: types.AuthenticationModeApi, BootstrapClusterCreatorAdminPermissions: aws.Bool(true)},
		KubernetesNetworkConfig: c.networkConfig(),
		ResourcesVpcConfig: &types.VpcConfigResponse{
			VpcId: &c.network.vpc, SubnetIds: subnets, SecurityGroupIds: []string{group}, ClusterSecurityGroupId: &group,
			EndpointPublicAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
		},
		Tags: map[string]string{},
	}}, nil
}

// networkConfig is of the family that the range of Services has.
func (c *Cloud) networkConfig() *types.KubernetesNetworkConfigResponse {
	if prefix, err := netip.ParsePrefix(c.cluster.ServiceCIDR); err == nil && prefix.Addr().Is6() {
		return &types.KubernetesNetworkConfigResponse{ServiceIpv6Cidr: &c.cluster.ServiceCIDR, IpFamily: types.IpFamilyIpv6}
	}
	return &types.KubernetesNetworkConfigResponse{ServiceIpv4Cidr: &c.cluster.ServiceCIDR, IpFamily: types.IpFamilyIpv4}
}

// accessEntry gives an IAM principal a name and groups in the cluster.
type accessEntry struct {
	principal string // ARN of a role or user
	kind      string // "STANDARD", "EC2_LINUX", …
	username  string
	groups    []string
	created   time.Time
	modified  time.Time
	tags      map[string]string
}

func (c *Cloud) findEntry(cluster, principal *string) (*accessEntry, error) {
	if err := c.checkCluster(cluster); err != nil {
		return nil, err
	}
	e := c.entries[deref(principal)]
	if e == nil {
		return nil, fail("ResourceNotFoundException", "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.").with(http.StatusNotFound)
	}
	return e, nil
}

func (c *Cloud) createAccessEntry(_ *call, in *eks.CreateAccessEntryInput) (*eks.CreateAccessEntryOutput, error) {
	if err := c.checkCluster(in.ClusterName); err != nil {
		return nil, err
	}
	principal := deref(in.PrincipalArn)
	if c.roleByARN(principal) == nil && principal != c.admin.who.arn {
		return nil, fail("InvalidParameterException", "The specified principalArn is invalid: invalid principal.")
	}
	if c.entries[principal] != nil {
		return nil, fail("ResourceInUseException", "The specified access entry resource is already in use on this cluster.").with(http.StatusConflict)
	}
	e := &accessEntry{
		principal: principal, kind: deref(in.Type), username: deref(in.Username), groups: in.KubernetesGroups,
		created: c.now(), modified: c.now(), tags: maps.Clone(in.Tags),
	}
	if err := e.complete(); err != nil {
		return nil, err
	}
	c.entries[principal] = e
	return &eks.CreateAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

// complete fills in what the type of entry implies. Nodes get their name and
// groups from their type and may not choose.
func (e *accessEntry) complete() error {
	if e.kind == "" {
		e.kind = "STANDARD"
	}
	switch e.kind {
	case "STANDARD":
		for _, group := range e.groups {
			if strings.HasPrefix(group, "system:") {
				return fail("InvalidParameterException", "The kubernetes group name %s is invalid, it cannot start with system:", group)
			}
		}
		if e.username == "" {
			e.username = e.principal
			if name := roleNameOf(e.principal); name != "" {
				e.username = strings.Replace(strings.SplitN(e.principal, ":role/", 2)[0], ":iam:", ":sts:", 1) + ":assumed-role/" + name + "/{{SessionName}}"
			}
		}
		return nil
	case "EC2_LINUX", "EC2_WINDOWS", "FARGATE_LINUX":
		if len(e.groups) > 0 || e.username != "" {
			return fail("InvalidParameterException", "The username and kubernetes groups cannot be set for an access entry of type %s.", e.kind)
		}
		e.username, e.groups = "system:node:{{EC2PrivateDNSName}}", []string{"system:nodes"}
		if e.kind == "EC2_WINDOWS" {
			e.groups = append(e.groups, "eks:kube-proxy-windows")
		}
		return nil
	}
	return fail("InvalidParameterException", "The specified access entry type %s is invalid.", e.kind)
}

// roleNameOf returns the name of the role in an ARN, without its path.
func roleNameOf(arn string) string {
	_, name, found := strings.Cut(arn, ":role/")
	if !found {
		return ""
	}
	return name[strings.LastIndex(name, "/")+1:]
}

func (c *Cloud) describedEntry(e *accessEntry) *types.AccessEntry {
	return &types.AccessEntry{
		ClusterName: &c.cluster.Name, PrincipalArn: &e.principal, Type: &e.kind, Username: &e.username, KubernetesGroups: slices.Clone(e.groups),
		CreatedAt: &e.created, ModifiedAt: &e.modified, Tags: e.tags,
		AccessEntryArn: aws.String(c.entryARN(e)),
	}
}

func (c *Cloud) describeAccessEntry(_ *call, in *eks.DescribeAccessEntryInput) (*eks.DescribeAccessEntryOutput, error) {
	e, err := c.findEntry(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

func (c *Cloud) updateAccessEntry(_ *call, in *eks.UpdateAccessEntryInput) (*eks.UpdateAccessEntryOutput, error) {
	e, err := c.findEntry(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	changed := *e
	if in.KubernetesGroups != nil {
		changed.groups = in.KubernetesGroups
	}
	if in.Username != nil {
		changed.username = *in.Username
	}
	if err := changed.complete(); err != nil {
		return nil, err
	}
	changed.modified = c.now()
	*e = changed
	return &eks.UpdateAccessEntryOutput{AccessEntry: c.describedEntry(e)}, nil
}

func (c *Cloud) deleteAccessEntry(_ *call, in *eks.DeleteAccessEntryInput) (*eks.DeleteAccessEntryOutput, error) {
	e, err := c.findEntry(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	delete(c.entries, e.principal)
	return &eks.DeleteAccessEntryOutput{}, nil
}

func (c *Cloud) listAccessEntries(_ *call, in *eks.ListAccessEntriesInput) (*eks.ListAccessEntriesOutput, error) {
	if err := c.checkCluster(in.ClusterName); err != nil {
		return nil, err
	}
	part, next, err := page(sortedKeys(c.entries), in.NextToken, in.MaxResults, 100)
	if err != nil {
		return nil, fail("InvalidParameterException", "The nextToken is invalid.")
	}
	return &eks.ListAccessEntriesOutput{AccessEntries: part, NextToken: next}, nil
}
