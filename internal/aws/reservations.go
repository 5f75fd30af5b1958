package aws

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const (
	reservationsDue      = time.Minute
	reservationsOutdated = 10 * time.Minute
	// bookingSettles is how long after a launch EC2 may still count a reservation as if it
	// had not happened.
	bookingSettles = 15 * time.Second
)

// reservations finds capacity reservations, and keeps account of the machines that were
// launched into them since EC2 was asked.
type reservations struct {
	ec2   *ec2Client
	now   func() time.Time
	found *memo[[]reservation]

	mu     sync.Mutex
	booked map[string][]*booking // by reservation
}

// reservation is a capacity reservation, as EC2 described it.
type reservation struct {
	api.ReservationStatus
	platform types.CapacityReservationInstancePlatform
	asked    time.Time
}

// booking is a number of machines that are, or may be, launched into a reservation.
type booking struct {
	machines int
	at       time.Time
}

func newReservations(client *ec2Client, now func() time.Time) *reservations {
	return &reservations{ec2: client, now: now, found: newMemo[[]reservation](now, reservationsDue, reservationsOutdated), booked: map[string][]*booking{}}
}

// find returns the active reservations that any of the selectors matches, in the order of
// their ids, with what is left of them by now.
func (r *reservations) find(ctx context.Context, selectors []map[string]string) ([]reservation, error) {
	out, err := anyOf(ctx, r.found, selectors, r.describe)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b reservation) int { return cmp.Or(cmp.Compare(a.ID, b.ID), b.asked.Compare(a.asked)) })
	out = slices.CompactFunc(out, func(a, b reservation) bool { return a.ID == b.ID }) // the latest
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range out {
		for _, b := range r.booked[out[i].ID] {
			if b.at.Add(bookingSettles).After(out[i].asked) {
				out[i].Left = max(0, out[i].Left-int64(b.machines))
			}
		}
	}
	return out, nil
}

// book counts machines that are about to be launched into a reservation. What it returns
// is to be called with the number of those that were.
func (r *reservations) book(id string, machines int) (settle func(launched int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := &booking{machines, now}
	r.booked[id] = append(slices.DeleteFunc(r.booked[id], func(b *booking) bool { return now.Sub(b.at) > reservationsOutdated+bookingSettles }), b)
	return func(launched int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		b.machines, b.at = launched, r.now()
	}
}

// describe asks EC2 for the active reservations that a selector matches. An id that EC2
// does not know matches none.
func (r *reservations) describe(ctx context.Context, selector map[string]string) ([]reservation, error) {
	in := &ec2.DescribeCapacityReservationsInput{Filters: []types.Filter{filter("state", string(types.CapacityReservationStateActive))}}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		switch value := selector[key]; key {
		case api.SelectorIDs:
			in.CapacityReservationIds = []string{value}
		case api.SelectorReservationOwner:
			in.Filters = append(in.Filters, filter("owner-id", value))
		case api.SelectorReservationMatch:
			in.Filters = append(in.Filters, filter("instance-match-criteria", value))
		default:
			in.Filters = append(in.Filters, tagFilter(key, []string{value}))
		}
	}
	asked := r.now()
	var out []reservation
	err := eachPage(ctx, ec2.NewDescribeCapacityReservationsPaginator(r.ec2, in), func(page *ec2.DescribeCapacityReservationsOutput) {
		for i := range page.CapacityReservations {
			out = append(out, reservationOf(&page.CapacityReservations[i], asked))
		}
	})
	if errorCode(err) == codeNoReservation {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe capacity reservations: %w", err)
	}
	return out, nil
}

const codeNoReservation = "InvalidCapacityReservationId.NotFound"

func reservationOf(of *types.CapacityReservation, asked time.Time) reservation {
	out := reservation{asked: asked, platform: of.InstancePlatform, ReservationStatus: api.ReservationStatus{
		ID: awssdk.ToString(of.CapacityReservationId), Zone: awssdk.ToString(of.AvailabilityZone), InstanceType: awssdk.ToString(of.InstanceType),
		OwnerID: awssdk.ToString(of.OwnerId), MatchCriteria: string(of.InstanceMatchCriteria), Type: string(of.ReservationType), State: string(of.State),
		Interruptible: awssdk.ToBool(of.Interruptible), Left: int64(awssdk.ToInt32(of.AvailableInstanceCount)),
	}}
	if out.Type == "" {
		out.Type = api.ReservationDefault
	}
	if of.EndDate != nil {
		out.End = metav1.NewTime(*of.EndDate)
	}
	return out
}

// unsupported says why machines are not launched into a reservation; empty if they are.
func (r *reservation) unsupported() string {
	switch {
	case r.Type != api.ReservationDefault:
		return r.ID + " is a capacity block"
	case r.Interruptible:
		return r.ID + " is interruptible"
	}
	return ""
}

// addReserved adds the offerings of capacity reservations to the types.
func (c *Cloud) addReserved(all []offer.InstanceType, r *resolved, room map[string]subnet) {
	platform := types.CapacityReservationInstancePlatformLinuxUnix
	if windows(r.family) {
		platform = types.CapacityReservationInstancePlatformWindows
	}
	for i := range r.reservations {
		of := &r.reservations[i]
		at, known := slices.BinarySearchFunc(all, of.InstanceType, func(t offer.InstanceType, name string) int { return cmp.Compare(t.Name, name) })
		if !known || of.platform != platform || !slices.Contains(r.zones(), of.Zone) {
			continue
		}
		t := &all[at]
		o := offer.Offering{Zone: of.Zone, CapacityType: api.CapacityReserved, Reservation: of.ID, Left: of.Left, Price: offer.ReservedPrice(0)}
		if other := t.OfferingIn(of.Zone, api.CapacityOnDemand); other != nil {
			o.ZoneID, o.Price = other.ZoneID, offer.ReservedPrice(other.Price)
		}
		_, free := room[of.Zone]
		switch {
		case !free:
			o.Unavailable = "no free address in a subnet of " + of.Zone
		case of.Left == 0:
			o.Unavailable = "capacity reservation " + of.ID + " is full"
		default:
			o.Unavailable = c.shortages.reason(offer.Candidate{InstanceType: t.Name, Zone: of.Zone, CapacityType: api.CapacityReserved, Reservation: of.ID})
		}
		t.Offerings = append(t.Offerings, o)
		t.Sort()
	}
}

func windows(family string) bool {
	return family == api.FamilyWindows2019 || family == api.FamilyWindows2022
}

// reservationSpec says which capacity reservation a launch template's machines go into:
// the one of their offering, none where the class selects reservations and the offering is
// of none, and otherwise whatever EC2 does without a word.
func reservationSpec(b build) *types.LaunchTemplateCapacityReservationSpecificationRequest {
	switch {
	case b.reservation != "":
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: &b.reservation},
		}
	case b.unreserved:
		return &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: types.CapacityReservationPreferenceNone}
	}
	return nil
}
