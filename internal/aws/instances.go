package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How often EC2 is asked for a new instance. It takes some time until all answers have it.
const (
	describeAttempts = 12
	describePause    = 250 * time.Millisecond // the first; each is twice the one before
	describeLongest  = 4 * time.Second
	// lookLongest ends the pauses in which the machines of an earlier order are looked for.
	lookLongest = 2 * time.Second
)

// idsPerCall is the largest number of instances in one request.
const idsPerCall = 100

// Instances returns all instances with the cluster's tags, sorted by id. EC2 includes
// terminated instances for about an hour.
func (c *Cloud) Instances(ctx context.Context) ([]offer.Instance, error) {
	return c.describe(ctx, c.listings, &ec2.DescribeInstancesInput{Filters: c.options.ownedFilters()})
}

// Find returns the instances with the ids, sorted by id, whatever tags they have. It leaves
// out those that EC2 does not know any more.
func (c *Cloud) Find(ctx context.Context, ids []string) ([]offer.Instance, error) {
	var out []offer.Instance
	for chunk := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), idsPerCall) {
		found, err := c.describe(ctx, c.reads, &ec2.DescribeInstancesInput{Filters: []types.Filter{client.Filter("instance-id", chunk...)}})
		if err != nil {
			return nil, fmt.Errorf("find %v: %w", chunk, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// Retag restores the tags that Instances and Terminate require. It is an error if none of
// them is left, because the instance may then belong to somebody else.
func (c *Cloud) Retag(ctx context.Context, i offer.Instance) error {
	tags := c.options.ownership()
	if !c.options.marked(i.Tags) {
		return fmt.Errorf("tag %s: neither %s=%s nor %s%s=%s with %s is left of its tags: put them back, or terminate it",
			i.ID, api.TagManagedBy, c.options.ClusterName, api.TagClusterPrefix, c.options.ClusterName, owned, api.LabelProvisioner)
	}
	tags[api.LabelProvisioner], tags[api.TagLaunchID] = i.Provisioner, i.LaunchID
	if _, err := client.Invoke(ctx, c.writes.CreateTags, &ec2.CreateTagsInput{Resources: []string{i.ID}, Tags: tagList(tags)}); err != nil {
		return fmt.Errorf("tag %s: %w", i.ID, err)
	}
	return nil
}

func (c *Cloud) describe(ctx context.Context, from *client.EC2, in *ec2.DescribeInstancesInput) ([]offer.Instance, error) {
	var out []offer.Instance
	err := client.EachPage(ctx, ec2.NewDescribeInstancesPaginator(from, in), func(page *ec2.DescribeInstancesOutput) {
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				found := instanceOf(&reservation.Instances[i])
				found.Owned = c.options.owns(found.Tags)
				out = append(out, found)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("describe instances: %w", err)
	}
	slices.SortFunc(out, func(a, b offer.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func instanceOf(i *types.Instance) offer.Instance {
	tags := tagMap(i.Tags)
	out := offer.Instance{
		ID:           awssdk.ToString(i.InstanceId),
		NodeName:     awssdk.ToString(i.PrivateDnsName),
		LaunchID:     tags[api.TagLaunchID],
		Provisioner:  tags[api.LabelProvisioner],
		InstanceType: string(i.InstanceType),
		CapacityType: capacityTypeOf(i.InstanceLifecycle == types.InstanceLifecycleTypeSpot),
		ImageID:      awssdk.ToString(i.ImageId),
		State:        stateOf(i.State),
		LaunchedAt:   awssdk.ToTime(i.LaunchTime),
		Tags:         tags,
		SubnetID:     awssdk.ToString(i.SubnetId),
	}
	// One that was launched into a reservation by name, as long as that lasts. EC2 puts
	// machines into open reservations by itself, which says nothing about how they were bought.
	if s := i.CapacityReservationSpecification; i.CapacityReservationId != nil && s != nil && s.CapacityReservationTarget != nil {
		out.CapacityType, out.Reservation = api.CapacityReserved, *i.CapacityReservationId
	}
	if i.Placement != nil {
		out.Zone = awssdk.ToString(i.Placement.AvailabilityZone)
	}
	out.ProviderID = providerID(out.Zone, out.ID)
	for _, g := range i.SecurityGroups {
		out.SecurityGroupIDs = append(out.SecurityGroupIDs, awssdk.ToString(g.GroupId))
	}
	slices.Sort(out.SecurityGroupIDs)
	return out
}

// providerID returns the spec.providerID of the instance's Node.
func providerID(zone, id string) string { return "aws:///" + zone + "/" + id }

func stateOf(s *types.InstanceState) offer.InstanceState {
	if s == nil {
		return offer.StatePending
	}
	switch s.Name {
	case types.InstanceStateNameRunning:
		return offer.StateRunning
	case types.InstanceStateNameStopping, types.InstanceStateNameStopped, types.InstanceStateNameShuttingDown:
		return offer.StateStopping
	case types.InstanceStateNameTerminated:
		return offer.StateGone
	}
	return offer.StatePending
}

// describeLaunched tells what EC2 says about machines that were just bought. It
// asks again for a while until each has a name; those that still have none are
// returned with what the fleet said.
func (c *Cloud) describeLaunched(ctx context.Context, order *offer.Order, launched []fleetInstance) []offer.Instance {
	known := map[string]offer.Instance{}
	pause := describePause
	for attempt := 0; len(known) < len(launched) && attempt < describeAttempts; attempt++ {
		if attempt > 0 && !sleep(ctx, pause) {
			break
		}
		if attempt > 0 {
			pause = min(pause*2, describeLongest)
		}
		for chunk := range slices.Chunk(unknownIDs(launched, known), idsPerCall) {
			found, err := c.describe(ctx, c.reads, &ec2.DescribeInstancesInput{Filters: []types.Filter{client.Filter("instance-id", chunk...)}})
			if err != nil {
				continue // the next attempt asks again
			}
			for _, i := range found {
				if i.NodeName != "" || isOver(i) {
					known[i.ID] = i
				}
			}
		}
	}
	out := make([]offer.Instance, 0, len(launched))
	for _, l := range launched {
		i, ok := known[l.id]
		if !ok {
			i = l.instance(c, order)
		}
		out = append(out, i)
	}
	return out
}

func unknownIDs(launched []fleetInstance, known map[string]offer.Instance) []string {
	var out []string
	for _, l := range launched {
		if _, ok := known[l.id]; !ok {
			out = append(out, l.id)
		}
	}
	return out
}

// instance is what is known of a machine from its fleet alone.
func (f fleetInstance) instance(c *Cloud, order *offer.Order) offer.Instance {
	return offer.Instance{
		ID: f.id, ProviderID: providerID(f.zone, f.id), LaunchID: order.LaunchID, Provisioner: order.Provisioner,
		InstanceType: f.instanceType, Zone: f.zone, CapacityType: f.capacityType, Reservation: f.reservation, SubnetID: f.subnetID,
		State: offer.StatePending, LaunchedAt: c.now(),
	}
}

// sleep reports whether the pause passed before the context ended.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// alreadyLaunched finds the machines of an order that earlier requests with the
// same id have bought. They may have been bought a moment ago, so it looks several
// times; but only once for an order, because the id is the same in all its rounds.
func (c *Cloud) alreadyLaunched(ctx context.Context, l *launch) (*fleetResult, error) {
	in := &ec2.DescribeInstancesInput{Filters: append(c.options.ownedFilters(),
		client.Filter("tag:"+api.TagLaunchID, l.order.LaunchID),
		client.Filter("instance-state-name", "pending", "running"))}
	result := &fleetResult{again: true}
	for pause := describePause; len(result.instances) == 0; pause *= 2 {
		instances, err := c.describe(ctx, c.reads, in)
		if err != nil {
			return nil, err
		}
		for _, i := range instances {
			counted := slices.ContainsFunc(l.found, func(f fleetInstance) bool { return f.id == i.ID })
			if !counted && len(result.instances) < l.missing() {
				result.instances = append(result.instances, fleetInstance{i.ID, i.InstanceType, i.Zone, i.SubnetID, i.CapacityType, i.Reservation})
			}
		}
		if l.looked || pause > lookLongest || !sleep(ctx, pause) {
			break
		}
	}
	l.looked = true
	return result, nil
}

// Terminate terminates instances. It returns the ids of those that are now shutting down or
// were terminated already, sorted. An instance without the cluster's tags stays, and is an
// error.
func (c *Cloud) Terminate(ctx context.Context, ids []string) ([]string, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	var gone []string
	var errs []error
	for chunk := range slices.Chunk(ids, idsPerCall) {
		part, err := c.terminate(ctx, chunk)
		gone = append(gone, part...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return gone, errors.Join(errs...)
}

func (c *Cloud) terminate(ctx context.Context, ids []string) ([]string, error) {
	found, err := c.describe(ctx, c.reads, &ec2.DescribeInstancesInput{Filters: []types.Filter{client.Filter("instance-id", ids...)}})
	if err != nil {
		return nil, fmt.Errorf("terminate %v: %w", ids, err)
	}
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true // unless EC2 still knows it
	}
	var going []string
	var errs []error
	for _, i := range found {
		switch {
		case i.State == offer.StateGone:
		case !i.Owned:
			delete(gone, i.ID)
			errs = append(errs, fmt.Errorf("terminate %s: it does not have the tags of cluster %s", i.ID, c.options.ClusterName))
		default:
			delete(gone, i.ID)
			going = append(going, i.ID)
		}
	}
	ended, err := c.end(ctx, going)
	for _, id := range ended {
		gone[id] = true
	}
	return slices.Sorted(maps.Keys(gone)), errors.Join(append(errs, err)...)
}

// end terminates instances in one request. If EC2 refuses that, it makes a request for each
// of them. It returns the ids of those that are shutting down or terminated.
func (c *Cloud) end(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	_, err := client.Invoke(ctx, c.writes.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: ids})
	switch {
	case err == nil:
		return ids, nil
	case len(ids) == 1 && errorCode(err) == "InvalidInstanceID.NotFound":
		return ids, nil
	case len(ids) == 1 || errorCode(err) == "":
		return nil, fmt.Errorf("terminate %v: %w", ids, err)
	}
	var ended []string
	var errs []error
	for _, id := range ids {
		one, err := c.end(ctx, []string{id})
		ended = append(ended, one...)
		errs = append(errs, err)
	}
	return ended, errors.Join(errs...)
}
