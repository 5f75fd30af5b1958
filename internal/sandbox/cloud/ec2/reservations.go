package ec2

import (
	"cmp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

// reservation is a capacity reservation: machines of a type in a zone that are kept for the
// account.
type reservation struct {
	id           string
	instanceType *catalogue.Type
	zone         string
	total        int32
	match        types.InstanceMatchCriteria
	platform     types.CapacityReservationInstancePlatform
	created      time.Time
	end          time.Time // zero: none
	cancelled    bool
	tags         map[string]string
}

// active reports whether machines may be launched into the reservation.
func (r *reservation) active(now time.Time) bool {
	return !r.cancelled && (r.end.IsZero() || now.Before(r.end))
}

func (r *reservation) state(now time.Time) types.CapacityReservationState {
	switch {
	case r.cancelled:
		return types.CapacityReservationStateCancelled
	case !r.active(now):
		return types.CapacityReservationStateExpired
	}
	return types.CapacityReservationStateActive
}

// available is how many machines may still be launched into a reservation.
func available(c *EC2, r *reservation) int32 {
	left := r.total
	for _, m := range c.Machines {
		if m.capacityReservation == r.id && m.state != stateTerminated {
			left--
		}
	}
	return max(0, left)
}

// reservationID is the reservation that a machine is in; empty for none. What is in one that
// has ended goes on as an ordinary on-demand machine.
func reservationID(c *EC2, m *Machine) string {
	if r := c.reservations[m.capacityReservation]; r != nil && r.active(c.Now()) {
		return r.id
	}
	return ""
}

// takes reports whether a machine can be launched into a reservation.
func takes(c *EC2, r *reservation, spec *launchSpec) bool {
	return r.active(c.Now()) && r.instanceType == spec.instanceType && r.zone == spec.subnet.Zone && available(c, r) > 0
}

func findReservation(c *EC2, id string) (*reservation, *account.APIError) {
	if r := c.reservations[id]; r != nil {
		return r, nil
	}
	return nil, account.Fail("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
}

// reserve chooses the reservation that an on-demand machine is launched into: the one that
// is targeted, or an open one that matches unless none is wanted.
func reserve(c *EC2, spec *launchSpec) *account.APIError {
	spec.capacityReservation = ""
	wanted := account.Deref(spec.reservation)
	if target := wanted.CapacityReservationTarget; target != nil && target.CapacityReservationId != nil {
		r, missing := findReservation(c, *target.CapacityReservationId)
		switch {
		case missing != nil:
			return missing
		case spec.capacityType != catalogue.OnDemand:
			return account.Fail("InvalidParameterCombination", "A Spot Instance cannot be launched into a Capacity Reservation.")
		case !takes(c, r, spec):
			return account.Fail("ReservationCapacityExceeded", "The requested reservation does not have sufficient compatible and available capacity for this request.")
		}
		spec.capacityReservation = r.id
		return nil
	}
	if spec.capacityType != catalogue.OnDemand || wanted.CapacityReservationPreference == types.CapacityReservationPreferenceNone {
		return nil
	}
	for _, id := range account.SortedKeys(c.reservations) {
		if r := c.reservations[id]; r.match == types.InstanceMatchCriteriaOpen && takes(c, r, spec) {
			spec.capacityReservation = id
			return nil
		}
	}
	return nil
}

func accessesOfCreateCapacityReservation(c *EC2, in *ec2.CreateCapacityReservationInput) []account.Access {
	tags := resource.TagsFor(in.TagSpecifications, types.ResourceTypeCapacityReservation)
	return []account.Access{{Action: "ec2:CreateCapacityReservation", Resource: resource.ARN(c.Account, "capacity-reservation", "*"), Context: account.RequestTags(tags)}}
}

func createCapacityReservation(c *EC2, _ *account.Caller, in *ec2.CreateCapacityReservationInput) (*ec2.CreateCapacityReservationOutput, error) {
	t := c.Catalogue.ByName(account.Deref(in.InstanceType))
	switch zone := account.Deref(in.AvailabilityZone); {
	case t == nil:
		return nil, account.Fail("InvalidParameterValue", "Invalid value '%s' for InstanceType.", account.Deref(in.InstanceType))
	case !t.OfferedIn(zone):
		return nil, account.Fail("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", t.Name, zone)
	case account.Deref(in.InstanceCount) < 1:
		return nil, account.Fail("InvalidParameterValue", "InstanceCount must be at least 1.")
	case in.EndDateType == types.EndDateTypeLimited && in.EndDate == nil:
		return nil, account.Fail("MissingParameter", "EndDate is required with EndDateType limited.")
	}
	r := &reservation{
		id: c.NewID("cr"), instanceType: t, zone: *in.AvailabilityZone, total: *in.InstanceCount, platform: in.InstancePlatform,
		match: cmp.Or(in.InstanceMatchCriteria, types.InstanceMatchCriteriaOpen), created: c.Now(), end: account.Deref(in.EndDate), tags: resource.TagsFor(in.TagSpecifications, types.ResourceTypeCapacityReservation),
	}
	c.reservations[r.id] = r
	return &ec2.CreateCapacityReservationOutput{CapacityReservation: new(describedReservation(c, r))}, nil
}

func accessesOfCancelCapacityReservation(c *EC2, in *ec2.CancelCapacityReservationInput) []account.Access {
	id := account.Deref(in.CapacityReservationId)
	var tags map[string]string
	if r := c.reservations[id]; r != nil {
		tags = r.tags
	}
	return []account.Access{{Action: "ec2:CancelCapacityReservation", Resource: resource.ARN(c.Account, "capacity-reservation", id), Context: account.ResourceTags("ec2", tags)}}
}

func cancelCapacityReservation(c *EC2, _ *account.Caller, in *ec2.CancelCapacityReservationInput) (*ec2.CancelCapacityReservationOutput, error) {
	r, missing := findReservation(c, account.Deref(in.CapacityReservationId))
	if missing != nil {
		return nil, missing
	}
	r.cancelled = true
	return &ec2.CancelCapacityReservationOutput{Return: aws.Bool(true)}, nil
}

func describeCapacityReservations(c *EC2, _ *account.Caller, in *ec2.DescribeCapacityReservationsInput) (*ec2.DescribeCapacityReservationsOutput, error) {
	ids := slices.Sorted(slices.Values(in.CapacityReservationIds))
	if len(ids) == 0 {
		ids = account.SortedKeys(c.reservations)
	}
	var candidates []*reservation
	for _, id := range slices.Compact(ids) {
		r, missing := findReservation(c, id)
		if missing != nil {
			return nil, missing
		}
		candidates = append(candidates, r)
	}
	kept, err := resource.Selected(candidates, in.Filters, func(r *reservation) resource.Attributes {
		return resource.Attributes{
			"instance-type": {r.instanceType.Name}, "availability-zone": {r.zone}, "owner-id": {c.AccountID},
			"state": {string(r.state(c.Now()))}, "instance-match-criteria": {string(r.match)},
		}.WithTags(r.tags)
	})
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeCapacityReservationsOutput{NextToken: next, CapacityReservations: []types.CapacityReservation{}}
	for _, r := range part {
		out.CapacityReservations = append(out.CapacityReservations, describedReservation(c, r))
	}
	return out, nil
}

func describedReservation(c *EC2, r *reservation) types.CapacityReservation {
	out := types.CapacityReservation{
		CapacityReservationId: &r.id, InstanceType: &r.instanceType.Name, AvailabilityZone: &r.zone, OwnerId: &c.AccountID,
		CapacityReservationArn: aws.String(resource.ARN(c.Account, "capacity-reservation", r.id)),
		TotalInstanceCount:     &r.total, AvailableInstanceCount: aws.Int32(0), InstanceMatchCriteria: r.match,
		State: r.state(c.Now()), ReservationType: types.CapacityReservationTypeDefault, InstancePlatform: r.platform,
		CreateDate: &r.created, EndDateType: types.EndDateTypeUnlimited, Tenancy: types.CapacityReservationTenancyDefault, Tags: resource.Tags(r.tags),
	}
	if r.active(c.Now()) {
		out.AvailableInstanceCount = aws.Int32(available(c, r))
	}
	if !r.end.IsZero() {
		out.EndDate, out.EndDateType = &r.end, types.EndDateTypeLimited
	}
	return out
}
