// Package lookup finds what a node profile refers to in AWS: subnets, security groups,
// images, instance profiles and capacity reservations.
package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// How long answers about the network are used. The number of free addresses changes with
// every pod.
const (
	subnetsDue        = time.Minute
	securityGroupsDue = 5 * time.Minute
	networkOutdated   = time.Hour
	exhaustedFor      = 3 * time.Minute // how long a subnet counts as full after EC2 said so
)

// Network finds subnets and security groups, and counts the addresses that starting machines
// will take. It is safe for concurrent use.
type Network struct {
	ec2     *client.EC2
	now     func() time.Time
	subnets *client.Memo[[]Subnet]
	groups  *client.Memo[[]SecurityGroup]

	mu        sync.Mutex
	counted   map[string]int64     // by subnet, what EC2 said last
	promised  map[string][]promise // by subnet
	exhausted map[string]time.Time // by subnet, until when
}

// Subnet is a subnet in which machines can start.
type Subnet struct {
	ID, Zone string
	Free     int64 // number of free IPv4 addresses
}

// SecurityGroup is a security group that machines get.
type SecurityGroup struct {
	api.SecurityGroupStatus
	Clusters []string // those whose tag it has
}

// promise is a number of addresses that a starting machine will take, and which EC2 may not
// count as taken yet.
type promise struct {
	addresses int64
	free      int64 // EC2's count before
	since     time.Time
}

// NewNetwork returns a finder that asks EC2.
func NewNetwork(sdk *client.EC2, now func() time.Time) *Network {
	return &Network{
		ec2: sdk, now: now,
		subnets:   client.NewMemo[[]Subnet](now, subnetsDue, networkOutdated),
		groups:    client.NewMemo[[]SecurityGroup](now, securityGroupsDue, networkOutdated),
		counted:   map[string]int64{},
		promised:  map[string][]promise{},
		exhausted: map[string]time.Time{},
	}
}

// Subnets returns the subnets that match any of the selectors, sorted by id. The addresses of
// starting machines do not count as free.
func (n *Network) Subnets(ctx context.Context, selectors []map[string]string) ([]Subnet, error) {
	out, err := anyOf(ctx, n.subnets, selectors, n.describeSubnets)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Subnet) int { return cmp.Compare(a.ID, b.ID) })
	out = slices.CompactFunc(out, func(a, b Subnet) bool { return a.ID == b.ID })
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	for i := range out {
		s := &out[i]
		promised := int64(0)
		for _, p := range slices.Backward(n.promised[s.ID]) {
			if now.Sub(p.since) < 2*subnetsDue { // EC2's count may include some of it already
				promised += p.addresses
				s.Free = max(min(s.Free, p.free-promised), 0)
			}
		}
		if now.Before(n.exhausted[s.ID]) {
			s.Free = 0
		}
	}
	return out, nil
}

func (n *Network) describeSubnets(ctx context.Context, selector map[string]string) ([]Subnet, error) {
	var out []Subnet
	in := &ec2.DescribeSubnetsInput{Filters: filters(selector, filterSubnetID)}
	err := client.EachPage(ctx, ec2.NewDescribeSubnetsPaginator(n.ec2, in), func(page *ec2.DescribeSubnetsOutput) {
		for _, s := range page.Subnets {
			out = append(out, Subnet{
				ID:   awssdk.ToString(s.SubnetId),
				Zone: awssdk.ToString(s.AvailabilityZone),
				Free: int64(awssdk.ToInt32(s.AvailableIpAddressCount)),
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe subnets of %s: %w", selectorKey(selector), err)
	}
	n.settlePromises(out)
	return out, nil
}

// settlePromises keeps EC2's count and forgets the addresses that it includes by now: a machine takes its
// addresses within subnetsDue.
func (n *Network) settlePromises(seen []Subnet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	for _, s := range seen {
		n.counted[s.ID] = s.Free
		n.promised[s.ID] = slices.DeleteFunc(n.promised[s.ID], func(p promise) bool { return now.Sub(p.since) >= subnetsDue })
	}
}

// SecurityGroups returns the security groups that match any of the selectors, sorted by id.
func (n *Network) SecurityGroups(ctx context.Context, selectors []map[string]string) ([]SecurityGroup, error) {
	out, err := anyOf(ctx, n.groups, selectors, n.describeSecurityGroups)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b SecurityGroup) bool { return a.ID == b.ID }), nil
}

func (n *Network) describeSecurityGroups(ctx context.Context, selector map[string]string) ([]SecurityGroup, error) {
	var out []SecurityGroup
	in := &ec2.DescribeSecurityGroupsInput{Filters: filters(selector, filterSecurityGroupID)}
	err := client.EachPage(ctx, ec2.NewDescribeSecurityGroupsPaginator(n.ec2, in), func(page *ec2.DescribeSecurityGroupsOutput) {
		for _, g := range page.SecurityGroups {
			found := SecurityGroup{SecurityGroupStatus: api.SecurityGroupStatus{ID: awssdk.ToString(g.GroupId), Name: awssdk.ToString(g.GroupName)}}
			for _, tag := range g.Tags {
				if cluster, ok := strings.CutPrefix(awssdk.ToString(tag.Key), api.TagClusterPrefix); ok {
					found.Clusters = append(found.Clusters, cluster)
				}
			}
			out = append(out, found)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe security groups of %s: %w", selectorKey(selector), err)
	}
	return out, nil
}

// Forget makes all subnets and security groups be looked up again.
func (n *Network) Forget() {
	n.subnets.Forget()
	n.groups.Forget()
}

// Roomiest returns the subnet with the most free addresses of each zone. A zone whose subnets
// have none is left out.
func Roomiest(subnets []Subnet) map[string]Subnet {
	out := map[string]Subnet{}
	for _, s := range subnets {
		if best, ok := out[s.Zone]; s.Free > 0 && (!ok || s.Free > best.Free) {
			out[s.Zone] = s
		}
	}
	return out
}

// Promise counts addresses of a subnet that Subnets has found as taken, until EC2 does.
func (n *Network) Promise(subnetID string, addresses int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.promised[subnetID] = append(n.promised[subnetID], promise{addresses, n.counted[subnetID], n.now()})
}

// Exhaust counts a subnet as full for three minutes.
func (n *Network) Exhaust(subnetID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.exhausted[subnetID] = n.now().Add(exhaustedFor)
}
