package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// How long what was found in the network is believed. Free addresses change with
// every pod.
const (
	subnetsDue        = time.Minute
	securityGroupsDue = 5 * time.Minute
	networkOutdated   = time.Hour
	exhaustedFor      = 3 * time.Minute
)

// network finds subnets and security groups, and keeps account of the addresses
// that machines on their way will take.
type network struct {
	ec2     *ec2Client
	now     func() time.Time
	subnets *memo[[]subnet]
	groups  *memo[[]api.SecurityGroupStatus]

	mu        sync.Mutex
	promised  map[string]promise   // by subnet
	exhausted map[string]time.Time // by subnet, until when
}

// subnet is a place for machines.
type subnet struct {
	id     string
	zone   string
	zoneID string
	free   int64
}

// promise is the number of addresses that were given away since the last look.
type promise struct {
	addresses int64
	since     time.Time
}

func newNetwork(client *ec2Client, now func() time.Time) *network {
	return &network{
		ec2: client, now: now,
		subnets:   newMemo[[]subnet](now, subnetsDue, networkOutdated),
		groups:    newMemo[[]api.SecurityGroupStatus](now, securityGroupsDue, networkOutdated),
		promised:  map[string]promise{},
		exhausted: map[string]time.Time{},
	}
}

// findSubnets returns the subnets that any of the selectors matches, in the order of their ids, with
// the addresses that are free by now.
func (n *network) findSubnets(ctx context.Context, selectors []map[string]string) ([]subnet, error) {
	out, err := anyOf(ctx, n.subnets, selectors, n.describeSubnets)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b subnet) int { return cmp.Compare(a.id, b.id) })
	out = slices.CompactFunc(out, func(a, b subnet) bool { return a.id == b.id })
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	for i := range out {
		s := &out[i]
		if p, ok := n.promised[s.id]; ok && now.Sub(p.since) < 2*subnetsDue {
			s.free = max(s.free-p.addresses, 0)
		}
		if now.Before(n.exhausted[s.id]) {
			s.free = 0
		}
	}
	return out, nil
}

func (n *network) describeSubnets(ctx context.Context, selector map[string]string) ([]subnet, error) {
	var out []subnet
	in := &ec2.DescribeSubnetsInput{Filters: filters(selector, filterSubnetID)}
	err := eachPage(ctx, ec2.NewDescribeSubnetsPaginator(n.ec2, in), func(page *ec2.DescribeSubnetsOutput) {
		for _, s := range page.Subnets {
			out = append(out, subnet{
				id:     awssdk.ToString(s.SubnetId),
				zone:   awssdk.ToString(s.AvailabilityZone),
				zoneID: awssdk.ToString(s.AvailabilityZoneId),
				free:   int64(awssdk.ToInt32(s.AvailableIpAddressCount)),
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe subnets of %s: %w", selectorKey(selector), err)
	}
	slices.SortFunc(out, func(a, b subnet) int { return cmp.Compare(a.id, b.id) })
	n.settlePromises(out)
	return out, nil
}

// settlePromises forgets what EC2's own count contains by now. A machine takes
// its addresses within the time between two looks.
func (n *network) settlePromises(seen []subnet) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range seen {
		if n.now().Sub(n.promised[s.id].since) >= subnetsDue {
			delete(n.promised, s.id)
		}
	}
}

// findSecurityGroups returns the security groups that any of the selectors matches, in
// the order of their ids.
func (n *network) findSecurityGroups(ctx context.Context, selectors []map[string]string) ([]api.SecurityGroupStatus, error) {
	out, err := anyOf(ctx, n.groups, selectors, n.describeSecurityGroups)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b api.SecurityGroupStatus) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(out, func(a, b api.SecurityGroupStatus) bool { return a.ID == b.ID }), nil
}

func (n *network) describeSecurityGroups(ctx context.Context, selector map[string]string) ([]api.SecurityGroupStatus, error) {
	var out []api.SecurityGroupStatus
	in := &ec2.DescribeSecurityGroupsInput{Filters: filters(selector, filterSecurityGroupID)}
	err := eachPage(ctx, ec2.NewDescribeSecurityGroupsPaginator(n.ec2, in), func(page *ec2.DescribeSecurityGroupsOutput) {
		for _, g := range page.SecurityGroups {
			out = append(out, api.SecurityGroupStatus{ID: awssdk.ToString(g.GroupId), Name: awssdk.ToString(g.GroupName)})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe security groups of %s: %w", selectorKey(selector), err)
	}
	slices.SortFunc(out, func(a, b api.SecurityGroupStatus) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// roomiest returns for each zone the subnet with the most free addresses. A zone
// whose subnets have none is left out.
func roomiest(subnets []subnet) map[string]subnet {
	out := map[string]subnet{}
	for _, s := range subnets {
		if best, ok := out[s.zone]; s.free > 0 && (!ok || s.free > best.free) {
			out[s.zone] = s
		}
	}
	return out
}

// promise counts addresses of a subnet as given away.
func (n *network) promise(subnetID string, addresses int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.promised[subnetID]
	n.promised[subnetID] = promise{addresses: p.addresses + addresses, since: n.now()}
}

// exhaust remembers that EC2 had no address left in a subnet.
func (n *network) exhaust(subnetID string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.exhausted[subnetID] = n.now().Add(exhaustedFor)
}
