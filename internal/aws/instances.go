package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithytime "github.com/aws/smithy-go/time"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// How often EC2 is asked for a new instance. It takes some time until all answers have it.
const (
	describeAttempts = 12
	describePause    = 250 * time.Millisecond // the first; each is twice the one before
	describeLongest  = 4 * time.Second
	// searchLongest is the longest pause in the search for the machines of an earlier order.
	searchLongest = 2 * time.Second
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
	for chunk := range slices.Chunk(sets.List(sets.New(ids...)), idsPerCall) {
		found, err := c.withIDs(ctx, chunk)
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
		return fmt.Errorf("tag %s: it has neither the tag %s=%s nor the tags %s%s=%s and %s: restore them, or terminate the instance",
			i.ID, api.TagManagedBy, c.options.ClusterName, api.TagClusterPrefix, c.options.ClusterName, owned, api.LabelProvisioner)
	}
	tags[api.LabelProvisioner], tags[api.TagLaunchID] = i.Provisioner, i.LaunchID
	if _, err := client.Invoke(ctx, c.writes.CreateTags, &ec2.CreateTagsInput{Resources: []string{i.ID}, Tags: tagList(tags)}); err != nil {
		return fmt.Errorf("tag %s: %w", i.ID, err)
	}
	return nil
}

// withIDs returns those of the instances that EC2 knows. The ids are a filter and not a
// parameter, because EC2 refuses a request whose parameter has an unknown id.
func (c *Cloud) withIDs(ctx context.Context, ids []string) ([]offer.Instance, error) {
	return c.describe(ctx, c.reads, &ec2.DescribeInstancesInput{Filters: []types.Filter{client.Filter("instance-id", ids...)}})
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
		CapacityType: api.CapacityOnDemand,
		ImageID:      awssdk.ToString(i.ImageId),
		State:        stateOf(i.State),
		LaunchedAt:   awssdk.ToTime(i.LaunchTime),
		Tags:         tags,
		SubnetID:     awssdk.ToString(i.SubnetId),
	}
	if i.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		out.CapacityType = api.CapacitySpot
	}
	// Only an instance that was launched into a certain reservation counts as reserved, and
	// only while the reservation exists: EC2 also counts on-demand instances in open
	// reservations.
	if s := i.CapacityReservationSpecification; i.CapacityReservationId != nil && s != nil && s.CapacityReservationTarget != nil {
		out.CapacityType, out.Reservation = api.CapacityReserved, *i.CapacityReservationId
	}
	if i.StateReason != nil {
		out.StateReason = awssdk.ToString(i.StateReason.Message)
	}
	if i.Placement != nil {
		out.Zone = awssdk.ToString(i.Placement.AvailabilityZone)
	}
	out.ProviderID = providerID(out.Zone, out.ID)
	if i.IamInstanceProfile != nil {
		out.Profile = path.Base(awssdk.ToString(i.IamInstanceProfile.Arn))
	}
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
	case types.InstanceStateNameStopping, types.InstanceStateNameShuttingDown:
		return offer.StateStopping
	case types.InstanceStateNameStopped:
		return offer.StateStopped
	case types.InstanceStateNameTerminated:
		return offer.StateGone
	}
	return offer.StatePending
}

// describeLaunched returns machines that were just bought as EC2 describes them. It asks
// repeatedly until each has a node name or has ended. The others are returned as they are.
func (c *Cloud) describeLaunched(ctx context.Context, launched []offer.Instance) []offer.Instance {
	out := slices.Clone(launched)
	open := map[string]int{} // by id: the indexes of those that are not described yet
	for n, i := range launched {
		open[i.ID] = n
	}
	pause := describePause
	for attempt := 0; len(open) > 0 && attempt < describeAttempts; attempt++ {
		if attempt > 0 {
			if smithytime.SleepWithContext(ctx, pause) != nil {
				break
			}
			pause = min(pause*2, describeLongest)
		}
		for chunk := range slices.Chunk(slices.Sorted(maps.Keys(open)), idsPerCall) {
			found, err := c.withIDs(ctx, chunk)
			if err != nil {
				continue // the next attempt asks again
			}
			for _, i := range found {
				if n, ok := open[i.ID]; ok && (i.NodeName != "" || isOver(i)) {
					out[n] = i
					delete(open, i.ID)
				}
			}
		}
	}
	return out
}

// alreadyLaunched finds the machines that earlier requests with the order's launch id have
// bought. Because that may have been a moment ago, and EC2 may list some before the others, it
// searches for some seconds unless it finds all that are missing; but it does so only once for
// an order, because all rounds have the same id. If EC2 lists fewer than are missing, including
// those that have ended, that is an error for offer.ListingLag, beside those that run: it may list
// the others yet. It would list them if those that it lists are older than that.
func (l *launch) alreadyLaunched(ctx context.Context) (*fleetResult, error) {
	result := &fleetResult{again: true}
	listed, newest := 0, time.Time{} // whatever their states
	filters := append(l.cloud.options.ownedFilters(), client.Filter("tag:"+api.TagLaunchID, l.order.LaunchID))
	for pause := describePause; len(result.instances) < l.missing(); pause *= 2 {
		known, err := l.cloud.describe(ctx, l.cloud.reads, &ec2.DescribeInstancesInput{Filters: filters})
		if err != nil {
			return nil, err
		}
		known = slices.DeleteFunc(known, func(i offer.Instance) bool {
			return slices.ContainsFunc(l.found, func(f offer.Instance) bool { return f.ID == i.ID })
		})
		listed = len(known)
		for _, i := range known {
			if i.LaunchedAt.After(newest) {
				newest = i.LaunchedAt
			}
		}
		running := slices.DeleteFunc(known, func(i offer.Instance) bool { return !i.Runs() })
		result.instances = running[:min(len(running), l.missing())]
		if l.searched || pause > searchLongest {
			break
		}
		if err := smithytime.SleepWithContext(ctx, pause); err != nil {
			return nil, err
		}
	}
	l.searched = true
	now, id := l.cloud.now(), l.order.LaunchID
	recent := listed == 0 || now.Sub(newest) < offer.ListingLag
	if listed < l.missing() && recent && len(l.cloud.fruitless.lasting([]string{id}, nil, now)) == 0 {
		return result, fmt.Errorf("create fleet with target capacity %d: an earlier request may have bought machines under the launch id %s, and EC2 lists only %d yet", l.missing(), id, listed)
	}
	return result, nil
}

// Terminate terminates instances. It returns the ids of those that are now shutting down or
// were terminated already, sorted. An instance without the cluster's tags stays, and is an
// error. One that EC2 does not know counts as terminated once no answer has had it for
// offer.ListingLag: EC2 may leave an instance that runs out of an answer.
func (c *Cloud) Terminate(ctx context.Context, ids []string) ([]string, error) {
	var gone []string
	var errs []error
	for chunk := range slices.Chunk(sets.List(sets.New(ids...)), idsPerCall) {
		part, err := c.terminate(ctx, chunk)
		gone = append(gone, part...)
		errs = append(errs, err)
	}
	return gone, errors.Join(errs...)
}

func (c *Cloud) terminate(ctx context.Context, ids []string) ([]string, error) {
	found, err := c.withIDs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("terminate %v: %w", ids, err)
	}
	gone := sets.New(c.absences.lasting(ids, found, c.now())...)
	var running []string
	var errs []error
	for _, i := range found {
		switch {
		case i.State == offer.StateGone:
			gone.Insert(i.ID)
		case !i.Owned:
			errs = append(errs, fmt.Errorf("terminate %s: it does not have the tags of cluster %s", i.ID, c.options.ClusterName))
		default:
			running = append(running, i.ID)
		}
	}
	ended, err := c.end(ctx, running)
	gone.Insert(ended...)
	return sets.List(gone), errors.Join(append(errs, err)...)
}

// end terminates instances. It returns the ids of those that are shutting down or terminated.
func (c *Cloud) end(ctx context.Context, ids []string) ([]string, error) {
	return client.EachChunk(ids, idsPerCall, func(chunk []string) error {
		if _, err := client.Invoke(ctx, c.writes.TerminateInstances, &ec2.TerminateInstancesInput{InstanceIds: chunk}); err != nil {
			return fmt.Errorf("terminate %v: %w", chunk, err)
		}
		return nil
	})
}

// absences are what EC2 did not know when it was last asked about it.
type absences struct {
	mu    sync.Mutex
	since map[string]time.Time // by id: the first of the answers that did not have it
}

func newAbsences() *absences { return &absences{since: map[string]time.Time{}} }

// lasting notes which of the ids EC2 has found, and returns those that it has not known for long enough.
func (a *absences) lasting(ids []string, found []offer.Instance, now time.Time) (gone []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.since, func(_ string, at time.Time) bool { return now.Sub(at) > time.Hour })
	for _, i := range found {
		delete(a.since, i.ID)
	}
	for _, id := range ids {
		if slices.ContainsFunc(found, func(i offer.Instance) bool { return i.ID == id }) {
			continue
		}
		first, known := a.since[id]
		if !known {
			first = now
			a.since[id] = now
		}
		if now.Sub(first) >= offer.ListingLag {
			gone = append(gone, id)
		}
	}
	return gone
}
