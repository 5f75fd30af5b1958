package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	smithytime "github.com/aws/smithy-go/time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/refusal"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// maxRounds is the largest number of fleet requests for one order.
const maxRounds = 8

// launch is an order that is being carried out.
type launch struct {
	cloud     *Cloud
	order     *offer.Order
	resolved  *resolved
	catalogue *offer.Catalogue

	candidates []offer.Candidate // those that may still be bought
	found      []offer.Instance
	refusals   []offer.Refusal
	searched   bool // for machines that were bought under the order's id before
}

// Launch buys the machines of an order. It makes a fleet request for the candidates with the
// capacity type of the first one. If machines are missing, it makes another request at once,
// without the candidates that were refused, unless minValues need one of these. Later markets
// do not offer those for a while. The delivery contains the machines that were bought, and
// the refusals that say why others were not. If a request failed, Launch returns the error
// and what it has bought before.
//
// The order's LaunchID makes the requests idempotent and is a tag of the machines. If the same
// id is ordered again, Launch returns the machines of that id that still run, and buys only
// the missing ones: two agents that order for the same pods do not buy twice. If EC2 does not
// report the name of an instance in time, the instance has no NodeName. A machine that has
// ended by then is not replaced but refused: another one would probably end as well.
func (c *Cloud) Launch(ctx context.Context, order offer.Order) (offer.Delivery, error) {
	if order.LaunchID == "" || order.Count <= 0 || len(order.Candidates) == 0 {
		return offer.Delivery{}, fmt.Errorf("launch %q: an order needs an id, a count and candidates", order.LaunchID)
	}
	l, err := c.newLaunch(ctx, &order)
	if err != nil {
		return offer.Delivery{}, offer.Unsent(fmt.Errorf("launch %s: %w", order.LaunchID, err))
	}
	for round := 0; round < maxRounds && l.missing() > 0 && l.possible(); round++ {
		if err := l.askFleet(ctx, round); err != nil {
			return l.delivery(ctx), fmt.Errorf("launch %s: %w", order.LaunchID, err)
		}
	}
	return l.delivery(ctx), nil
}

// possible reports whether something may be bought: all that minValues need has to be offered to EC2.
func (l *launch) possible() bool {
	gone := func(c offer.Candidate) bool { return !slices.Contains(l.candidates, c) }
	return len(l.candidates) > 0 && !slices.ContainsFunc(l.order.Needed, gone)
}

// delivery returns those of the machines that run, and the refusals, of which there is one for
// each offering whose machines have ended.
func (l *launch) delivery(ctx context.Context) offer.Delivery {
	var running []offer.Instance
	ended := map[offer.Candidate]bool{}
	for n, i := range l.cloud.describeLaunched(ctx, l.found) {
		if !isOver(i) {
			running = append(running, i)
			continue
		}
		bought := &l.found[n] // EC2 may not say any more in which capacity reservation it was
		c := offer.Candidate{InstanceType: i.InstanceType, Zone: i.Zone, CapacityType: bought.CapacityType, Reservation: bought.Reservation}
		if !ended[c] {
			ended[c] = true
			l.refuse(c, offer.RefusedEnded, fmt.Sprintf("%s ended right after its launch: %s", i.ID, cmp.Or(i.StateReason, "EC2 gives no reason")))
		}
	}
	return offer.Delivery{Instances: running, Refusals: l.refusals}
}

// isOver reports whether an instance has stopped running or soon will.
func isOver(i offer.Instance) bool {
	return i.State == offer.StateStopping || i.State == offer.StateStopped || i.State == offer.StateGone
}

func (c *Cloud) newLaunch(ctx context.Context, order *offer.Order) (*launch, error) {
	r, err := c.resolve(ctx, order.Node.Profile)
	if err != nil {
		return nil, err
	}
	if r.blocked != "" {
		return nil, offer.Permanent(fmt.Errorf("%s: %s", r.reason, r.blocked))
	}
	names := make([]string, len(order.Candidates))
	for i, candidate := range order.Candidates {
		names[i] = candidate.InstanceType
	}
	catalogue, err := c.stock.Get(ctx, names...)
	if err != nil {
		return nil, err
	}
	return &launch{cloud: c, order: order, resolved: r, catalogue: catalogue, candidates: slices.Clone(order.Candidates)}, nil
}

// askFleet makes one fleet request. It removes the candidates that are not worth another
// request.
func (l *launch) askFleet(ctx context.Context, round int) error {
	request, err := l.prepare(ctx)
	if err != nil {
		return offer.Unsent(err)
	}
	if len(request.overrides) == 0 || !l.possible() {
		return nil
	}
	settle := func(int) {}
	if request.reservation != "" {
		settle = l.cloud.reservations.Book(request.reservation, request.count)
	}
	result, err := l.requestFleet(ctx, request, round)
	if result == nil {
		settle(0)
		return err
	}
	settle(len(result.instances))
	l.found = append(l.found, result.instances...)
	for _, i := range result.instances {
		l.cloud.network.Promise(i.SubnetID, l.addresses(i.InstanceType))
	}
	if err := cmp.Or(err, l.misconfigured(result)); err != nil {
		return err
	}
	for _, f := range result.failures {
		l.refuse(f.candidate, f.reason, f.message)
		if f.reason == offer.RefusedAddresses {
			l.cloud.network.Exhaust(f.subnetID)
		}
	}
	// A fleet tries all overrides before it gives up. If it bought nothing, overrides without
	// an error have been tried too and are not worth another request.
	failed := len(result.instances) == 0 && !result.again
	l.candidates = slices.DeleteFunc(l.candidates, func(c offer.Candidate) bool {
		return l.refused(c) || (failed && request.has(c))
	})
	if result.passing == "" || l.missing() == 0 {
		return nil
	}
	return l.slowDown(ctx, result.passing, round)
}

// slowDown waits before the next round, because EC2 has throttled launches of this one or does not
// know a launch template. After the last one it is an error. The order is not repeated then: EC2
// would answer each round as before, because of its token.
func (l *launch) slowDown(ctx context.Context, message string, round int) error {
	if round == maxRounds-1 {
		return offer.Permanent(fmt.Errorf("create fleet with target capacity %d: %s", l.missing(), message))
	}
	return smithytime.SleepWithContext(ctx, min(describePause<<round, describeLongest))
}

// misconfigured returns an error if a fleet bought nothing, and all that failed did so because of something that machines
// are built from, such as the image. Where one offering failed because of that, such as a type that the image does not
// support, others may still be bought. It makes the next launch look up again what the
// profile's selectors find, because that may have been deleted.
func (l *launch) misconfigured(result *fleetResult) error {
	failed := func(f fleetFailure) bool { return refusal.Misconfigured(f.code, f.message) }
	if len(result.instances) > 0 || !slices.ContainsFunc(result.failures, failed) {
		return nil
	}
	l.cloud.forgetLookups()
	if slices.ContainsFunc(result.failures, func(f fleetFailure) bool { return !failed(f) }) {
		return nil
	}
	return offer.Permanent(fmt.Errorf("create fleet with target capacity %d: %s", l.missing(), result.failures[0].message))
}

// forgetLookups makes what selectors find be looked up again.
func (c *Cloud) forgetLookups() {
	c.network.Forget()
	c.images.Forget()
}

// refuse records why a candidate cannot be bought, and makes it unavailable in later markets
// for a while.
func (l *launch) refuse(c offer.Candidate, reason offer.RefusalReason, message string) {
	l.refusals = append(l.refusals, offer.Refusal{Candidate: c, Reason: reason, Message: message})
	var vcpus int64
	if h, ok := l.catalogue.Find(c.InstanceType); ok {
		vcpus = h.VCPUs
	}
	l.cloud.shortages.add(c, l.resolved.setup, reason, vcpus)
}

func (l *launch) refused(c offer.Candidate) bool {
	return slices.ContainsFunc(l.refusals, func(r offer.Refusal) bool { return r.Candidate == c })
}

// addresses returns how many IPv4 addresses of its subnet a machine takes when it starts.
func (l *launch) addresses(instanceType string) int64 {
	h, ok := l.catalogue.Find(instanceType)
	o := &l.cloud.options
	if !ok || l.resolved.cluster.IPv6 {
		return 1
	}
	first := offer.StartingAddresses(h, l.resolved.family, o.NodeOptions)
	if o.EFA && h.NoEFAOnDefaultCard {
		return first + h.EFAs
	}
	if o.EFA && h.EFAs > 1 {
		return first + h.EFAs - 1 // one address for each further network card
	}
	return first
}

// fleetRequest is a request for machines of one capacity type and at most one reservation.
type fleetRequest struct {
	capacityType string
	reservation  string
	count        int
	overrides    []override
	templates    []string // by order of first use
}

// override is a candidate with its subnet and launch template.
type override struct {
	candidate offer.Candidate
	subnetID  string
	template  string
}

// The largest numbers of instance types, overrides and launch templates in one fleet request.
// EC2 allows 300 overrides and 50 launch templates.
const (
	maxTypes     = 60
	maxOverrides = 300
	maxTemplates = 50
)

// takes reports whether a candidate may be bought with the request.
func (r *fleetRequest) takes(c offer.Candidate) bool {
	return c.CapacityType == r.capacityType && c.Reservation == r.reservation
}

func (r *fleetRequest) has(c offer.Candidate) bool {
	return slices.ContainsFunc(r.overrides, func(o override) bool { return o.candidate == c })
}

// prepare chooses the candidates with the capacity type and the reservation of the first one,
// finds a subnet for each, and creates their launch templates. It refuses candidates for
// which there is no subnet or no image. EC2 may start all machines of a request in one subnet, so
// the request is for no more than there are addresses for, and leaves out where these lack.
func (l *launch) prepare(ctx context.Context) (*fleetRequest, error) {
	request := &fleetRequest{capacityType: l.candidates[0].CapacityType, reservation: l.candidates[0].Reservation}
	subnets, err := l.cloud.network.Subnets(ctx, l.resolved.profile.SubnetSelectors())
	if err != nil {
		return nil, err
	}
	room := lookup.Roomiest(subnets)
	holds := func(c offer.Candidate) int { return int(room[c.Zone].Free / l.addresses(c.InstanceType)) }
	most := l.addressed(request, holds)
	request.count = min(l.missing(), max(most, 1)) // one machine may do with fewer addresses, if no subnet has enough
	types := map[string]bool{}
	builds := map[build][]int{} // indexes of overrides
	var order []build
	for _, candidate := range slices.Concat(l.order.Needed, l.candidates) {
		if !request.takes(candidate) || request.has(candidate) || l.refused(candidate) {
			continue
		}
		if len(request.overrides) == maxOverrides || (len(types) == maxTypes && !types[candidate.InstanceType]) {
			continue
		}
		subnet, b, reason, problem := l.place(candidate, room)
		if problem != "" {
			l.refuse(candidate, reason, problem)
			continue
		}
		if holds(candidate) < min(most, request.count) {
			continue
		}
		if _, ok := builds[b]; !ok {
			if len(builds) == maxTemplates {
				continue
			}
			order = append(order, b)
		}
		types[candidate.InstanceType] = true
		builds[b] = append(builds[b], len(request.overrides))
		request.overrides = append(request.overrides, override{candidate: candidate, subnetID: subnet})
	}
	l.candidates = slices.DeleteFunc(l.candidates, l.refused)
	return request, l.makeTemplates(ctx, request, order, builds)
}

// addressed returns for how many machines there are addresses in one subnet: of the first type that there are any for, and
// of each candidate that is needed, as these are not left out.
func (l *launch) addressed(request *fleetRequest, holds func(offer.Candidate) int) int {
	planned, most := "", 0
	for _, c := range l.candidates {
		if n := holds(c); n > 0 && request.takes(c) && (most == 0 || c.InstanceType == planned) {
			planned, most = c.InstanceType, max(most, n)
		}
	}
	for _, c := range l.order.Needed {
		most = min(most, holds(c))
	}
	return most
}

// place finds the subnet and the build of a candidate, or the problem why it has none.
func (l *launch) place(c offer.Candidate, room map[string]lookup.Subnet) (subnetID string, b build, reason offer.RefusalReason, problem string) {
	s, ok := room[c.Zone]
	if !ok {
		return "", build{}, offer.RefusedAddresses, "no free address in a subnet of " + c.Zone
	}
	h, ok := l.catalogue.Find(c.InstanceType)
	if !ok {
		return "", build{}, offer.RefusedUnsupported, "EC2 has no instance type " + c.InstanceType + " in this region"
	}
	b, err := l.cloud.buildOf(c, h, l.order, l.resolved)
	if err != nil {
		return "", build{}, offer.RefusedUnsupported, err.Error()
	}
	return s.ID, b, "", ""
}
