package lookup

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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
)

// How long answers about capacity reservations are used.
const (
	reservationsDue      = time.Minute
	reservationsOutdated = 10 * time.Minute
	// bookingSettles is how long after a launch EC2 may not yet count the machines in a
	// reservation.
	bookingSettles = 15 * time.Second
)

// Reservations finds capacity reservations, and counts the machines that were launched into
// them since EC2 was asked. It is safe for concurrent use.
type Reservations struct {
	ec2   *client.EC2
	now   func() time.Time
	found *client.Memo[[]Reservation]

	mu     sync.Mutex
	booked map[string][]*booking // by reservation
}

// Reservation is a capacity reservation, as EC2 described it.
type Reservation struct {
	api.ReservationStatus
	Platform types.CapacityReservationInstancePlatform
	asked    time.Time
	misfit   string // why the machines of launch templates do not match it; empty: they do
}

// booking is a number of machines that were launched into a reservation, or that are being
// launched.
type booking struct {
	machines int
	at       time.Time
}

// NewReservations returns a finder that asks EC2.
func NewReservations(sdk *client.EC2, now func() time.Time) *Reservations {
	return &Reservations{ec2: sdk, now: now, found: client.NewMemo[[]Reservation](now, reservationsDue, reservationsOutdated), booked: map[string][]*booking{}}
}

// Find returns the active reservations that match any of the selectors, sorted by id. Booked
// machines do not count as left.
func (r *Reservations) Find(ctx context.Context, selectors []map[string]string) ([]Reservation, error) {
	out, err := anyOf(ctx, r.found, selectors, r.describe)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b Reservation) int { return cmp.Or(cmp.Compare(a.ID, b.ID), b.asked.Compare(a.asked)) })
	out = slices.CompactFunc(out, func(a, b Reservation) bool { return a.ID == b.ID }) // keeps the latest answer
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

// Book counts machines that are about to be launched into a reservation. The caller must call
// settle with the number of machines that were launched.
func (r *Reservations) Book(id string, machines int) (settle func(launched int)) {
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

// describe asks EC2 for the active reservations that match a selector. An id that EC2 does not
// know matches none.
func (r *Reservations) describe(ctx context.Context, selector map[string]string) ([]Reservation, error) {
	in := &ec2.DescribeCapacityReservationsInput{Filters: []types.Filter{client.Filter("state", string(types.CapacityReservationStateActive))}}
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		switch value := selector[key]; key {
		case api.SelectorIDs:
			in.CapacityReservationIds = []string{value}
		case api.SelectorReservationOwner:
			in.Filters = append(in.Filters, client.Filter("owner-id", value))
		case api.SelectorReservationMatch:
			in.Filters = append(in.Filters, client.Filter("instance-match-criteria", value))
		default:
			in.Filters = append(in.Filters, client.TagFilter(key, []string{value}))
		}
	}
	asked := r.now()
	var out []Reservation
	err := client.EachPage(ctx, ec2.NewDescribeCapacityReservationsPaginator(r.ec2, in), func(page *ec2.DescribeCapacityReservationsOutput) {
		for i := range page.CapacityReservations {
			out = append(out, reservationOf(&page.CapacityReservations[i], asked))
		}
	})
	if call.Code(err) == codeNoReservation {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe capacity reservations: %w", err)
	}
	return out, nil
}

const codeNoReservation = "InvalidCapacityReservationId.NotFound"

func reservationOf(of *types.CapacityReservation, asked time.Time) Reservation {
	out := Reservation{asked: asked, Platform: of.InstancePlatform, ReservationStatus: api.ReservationStatus{
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
	switch {
	case of.Tenancy == types.CapacityReservationTenancyDedicated:
		out.misfit = "is for dedicated tenancy"
	case awssdk.ToString(of.PlacementGroupArn) != "":
		out.misfit = "is for a placement group"
	}
	return out
}

// Unsupported says why machines cannot be launched into a reservation. It is empty if they
// can.
func (r *Reservation) Unsupported() string {
	switch {
	case r.Type != api.ReservationDefault:
		return r.ID + " is a capacity block"
	case r.Interruptible:
		return r.ID + " is interruptible"
	case r.misfit != "":
		return r.ID + " " + r.misfit
	}
	return ""
}
