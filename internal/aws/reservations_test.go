package aws

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// reserve creates a targeted capacity reservation and returns its id.
func (f *fixture) reserve(t *testing.T, instanceType, zone string, machines int32, change ...func(*ec2.CreateCapacityReservationInput)) string {
	t.Helper()
	in := &ec2.CreateCapacityReservationInput{
		InstanceType: &instanceType, AvailabilityZone: awssdk.String(testRegion + zone), InstanceCount: &machines,
		InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: []types.Tag{{Key: awssdk.String("team"), Value: awssdk.String("a")}}}},
	}
	for _, c := range change {
		c(in)
	}
	out, err := f.admin.CreateCapacityReservation(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return *out.CapacityReservation.CapacityReservationId
}

func (f *fixture) cancel(t *testing.T, id string) {
	t.Helper()
	if _, err := f.admin.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: &id}); err != nil {
		t.Fatal(err)
	}
}

func classWith(selectors ...map[string]string) *api.NodeProfile {
	return &api.NodeProfile{Class: &api.ClassTerms{Reservations: selectors}}
}

func byID(id string) map[string]string { return map[string]string{api.SelectorIDs: id} }

// reserved lists the offerings of capacity reservations by id.
func reserved(m offer.Market) map[string]offer.Offering {
	out := map[string]offer.Offering{}
	for i := range m.Types {
		for _, o := range m.Types[i].Offerings {
			if o.CapacityType == api.CapacityReserved {
				out[o.Reservation] = o
			}
		}
	}
	return out
}

func inReservation(id, instanceType, zone string) offer.Candidate {
	return offer.Candidate{InstanceType: instanceType, Zone: testRegion + zone, CapacityType: api.CapacityReserved, Reservation: id}
}

// A class's terms find reservations by id, tag, owner and match, and only such as are active.
func TestReservationsAreFound(t *testing.T) {
	f := start(t)
	targeted := f.reserve(t, "m5.large", "a", 2)
	open := f.reserve(t, "c5.large", "b", 3, func(in *ec2.CreateCapacityReservationInput) {
		in.InstanceMatchCriteria, in.TagSpecifications = types.InstanceMatchCriteriaOpen, nil
	})
	windows := f.reserve(t, "m5.large", "b", 1, func(in *ec2.CreateCapacityReservationInput) {
		in.InstancePlatform, in.TagSpecifications = types.CapacityReservationInstancePlatformWindows, nil
	})
	f.cancel(t, f.reserve(t, "m5.large", "c", 1))
	f.reserve(t, "m5.xlarge", "c", 1, func(in *ec2.CreateCapacityReservationInput) {
		in.EndDateType, in.EndDate = types.EndDateTypeLimited, awssdk.Time(f.clock.Now())
	})
	for name, c := range map[string]struct {
		terms []map[string]string
		want  []string // of the offerings
		known int      // in the status
	}{
		"id":               {[]map[string]string{byID(targeted)}, []string{targeted}, 1},
		"unknown id":       {[]map[string]string{byID("cr-0")}, nil, 0},
		"tag":              {[]map[string]string{{"team": "a"}}, []string{targeted}, 1},
		"tag with a star":  {[]map[string]string{{"team": "*"}}, []string{targeted}, 1},
		"open":             {[]map[string]string{{api.SelectorReservationMatch: "open"}}, []string{open}, 1},
		"owner and tag":    {[]map[string]string{{api.SelectorReservationOwner: "000000000001", "team": "a"}}, nil, 0},
		"any term, twice":  {[]map[string]string{byID(targeted), {"team": "a"}, byID(open)}, []string{targeted, open}, 2},
		"another platform": {[]map[string]string{byID(windows)}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := f.market(t, classWith(c.terms...))
			if m.Blocked != "" || len(m.Status.Reservations) != c.known {
				t.Errorf("blocked %q, status %+v", m.Blocked, m.Status.Reservations)
			}
			got := reserved(m)
			for _, id := range c.want {
				if o := got[id]; o.Unavailable != "" || o.Left == 0 || o.Price <= 0 || o.Price > 100 {
					t.Errorf("%s: %+v", id, o)
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// A type whose price is not known, because the release does not know the type and the Pricing API is switched off, is
// not bought on demand, and that is said. A reservation of it, which is paid for, is used.
func TestReservationOfATypeWithoutAPrice(t *testing.T) {
	var table []string
	for line := range strings.Lines(string(catalogueOf("m5"))) {
		line = strings.Replace(line, "m5.large,m5,", "m99.large,m99,", 1)
		if strings.HasPrefix(line, "m99.large,") {
			line = strings.Replace(line, ",on-demand/spot,", ",on-demand,", 1)
		}
		table = append(table, line)
	}
	f := startWith(t, []byte(strings.Join(table, "")))
	id := f.reserve(t, "m99.large", "a", 1)
	m := f.market(t, classWith(byID(id)))
	if o := reserved(m)[id]; o.Unavailable != "" || o.Left != 1 || o.Price <= 0 {
		t.Errorf("the reservation: %+v", o)
	}
	it := find(t, m, "m99.large")
	if o := it.OfferingIn(testRegion+"a", api.CapacityOnDemand); o == nil || o.Unavailable != "its price is not known" {
		t.Errorf("on demand: %+v", o)
	}
	order := order("one", 1, inReservation(id, "m99.large", "a"))
	order.Node.Profile = classWith(byID(id))
	if d := f.launch(t, order); len(d.Instances) != 1 || d.Instances[0].Reservation != id {
		t.Errorf("%+v", d)
	}
}

// Machines are launched into the reservation that their offering names, and what is left of
// it is known at once, and again when a machine is gone.
func TestReservedLaunch(t *testing.T) {
	f := start(t)
	id := f.reserve(t, "m5.large", "a", 2)
	profile := classWith(byID(id))
	if got := reserved(f.market(t, profile))[id]; got.Left != 2 {
		t.Fatalf("%+v", got)
	}
	o := order("one", 2, inReservation(id, "m5.large", "a"))
	o.Node.Profile = profile
	d := f.launch(t, o)
	if len(d.Instances) != 2 || len(d.Refusals) > 0 {
		t.Fatalf("%+v", d)
	}
	for _, i := range d.Instances {
		if i.CapacityType != api.CapacityReserved || i.Reservation != id {
			t.Errorf("%+v", i)
		}
	}
	for _, m := range f.live() {
		if m.CapacityReservation != id || m.CapacityType != api.CapacityOnDemand {
			t.Errorf("%+v", m)
		}
	}
	content := f.templateContent(t)
	if got := content.CapacityReservationSpecification; got == nil || got.CapacityReservationTarget == nil || *got.CapacityReservationTarget.CapacityReservationId != id {
		t.Errorf("launch template: %+v", got)
	}
	full := reserved(f.market(t, profile))[id]
	if full.Left != 0 || full.Unavailable != "capacity reservation "+id+" is full" {
		t.Errorf("%+v", full)
	}
	if _, err := f.Terminate(t.Context(), []string{d.Instances[0].ID}); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(time.Minute)
	f.account.Instances() // what is due happens
	f.clock.Step(time.Minute)
	if got := reserved(f.market(t, profile))[id]; got.Left != 1 || got.Unavailable != "" {
		t.Errorf("%+v", got)
	}
}

// Somebody else has taken the last place of the reservation: the order is refused, and the
// reservation is put off like any other offering, which holds nothing else back.
func TestReservationExceeded(t *testing.T) {
	f := start(t)
	id := f.reserve(t, "m5.large", "a", 1)
	other := f.reserve(t, "m5.large", "a", 1)
	profile := classWith(byID(id), byID(other))
	f.market(t, profile)
	o := order("other", 1, inReservation(id, "m5.large", "a"))
	o.Node.Profile = profile
	stranger := f.newCloud(t)
	if _, err := stranger.Launch(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.LaunchID = "one"
	d := f.launch(t, o)
	if len(d.Instances) > 0 || len(d.Refusals) != 1 || d.Refusals[0].Reason != offer.RefusedCapacity {
		t.Fatalf("%+v", d)
	}
	m := f.market(t, profile)
	if got := reserved(m); got[id].Unavailable == "" || got[other].Unavailable != "" {
		t.Errorf("%+v", got)
	}
	at := slices.IndexFunc(m.Types, func(t offer.InstanceType) bool { return t.Name == "m5.large" })
	for _, sold := range m.Types[at].Offerings {
		if sold.CapacityType == api.CapacityOnDemand && sold.Unavailable != "" {
			t.Errorf("%+v", sold)
		}
	}
}

// A class that selects reservations buys on demand beside all of them, so that what is left
// of an open one is only taken by machines that are planned in it. Other classes leave it
// to EC2.
func TestOnDemandBesideReservations(t *testing.T) {
	for name, c := range map[string]struct {
		profile *api.NodeProfile
		in      bool
	}{"selects some": {classWith(map[string]string{"team": "b"}), false}, "selects none": {&api.NodeProfile{}, true}} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			open := f.reserve(t, "m5.large", "a", 1, func(in *ec2.CreateCapacityReservationInput) {
				in.InstanceMatchCriteria = types.InstanceMatchCriteriaOpen
			})
			o := order("one", 1, onDemand("m5.large", "a"))
			o.Node.Profile = c.profile
			d := f.launch(t, o)
			if got := f.live()[0].CapacityReservation == open; got != c.in {
				t.Errorf("in the reservation: %t", got)
			}
			if i := d.Instances[0]; i.CapacityType != api.CapacityOnDemand || i.Reservation != "" {
				t.Errorf("%+v", i)
			}
		})
	}
}

// When its reservation ends, a machine goes on as an ordinary on-demand machine.
func TestReservationEnds(t *testing.T) {
	f := start(t)
	id := f.reserve(t, "m5.large", "a", 1)
	o := order("one", 1, inReservation(id, "m5.large", "a"))
	o.Node.Profile = classWith(byID(id))
	f.launch(t, o)
	f.cancel(t, id)
	instances, err := f.Instances(t.Context())
	if err != nil || len(instances) != 1 || instances[0].CapacityType != api.CapacityOnDemand || instances[0].Reservation != "" {
		t.Errorf("%+v, %v", instances, err)
	}
}

// Nothing is launched into a reservation that is not supported, and it is named. It keeps nothing else from being bought,
// so that only a NodePool that allows nothing else is not ready.
func TestUnsupportedReservations(t *testing.T) {
	f := start(t)
	usable, block := f.reserve(t, "m5.large", "a", 1), f.reserve(t, "m5.large", "b", 1)
	describe := f.reads.CapacityReservations
	f.reads.CapacityReservations = func(ctx context.Context, in *ec2.DescribeCapacityReservationsInput, o ...func(*ec2.Options)) (*ec2.DescribeCapacityReservationsOutput, error) {
		out, err := describe(ctx, in, o...)
		if err != nil {
			return nil, err
		}
		for i := range out.CapacityReservations {
			if r := &out.CapacityReservations[i]; *r.CapacityReservationId == block {
				r.ReservationType = types.CapacityReservationTypeCapacityBlock
			}
		}
		return out, nil
	}
	says := "spec.capacityReservationSelectorTerms of its EC2NodeClass: " + block + " is a capacity block, which is not supported; select other reservations"
	for name, c := range map[string]struct {
		terms   []map[string]string
		allowed []string // capacity types; nil: all
		blocked string
		want    int // offerings of reservations
	}{
		"beside another":                       {[]map[string]string{{"team": "a"}}, nil, "", 1},
		"alone":                                {[]map[string]string{byID(block)}, nil, "", 0},
		"beside another, nothing else allowed": {[]map[string]string{byID(usable), byID(block)}, []string{api.CapacityReserved}, "", 1},
		"alone, nothing else allowed":          {[]map[string]string{byID(block)}, []string{api.CapacityReserved}, says, 0},
		"alone, spot allowed":                  {[]map[string]string{byID(block)}, []string{api.CapacityReserved, api.CapacitySpot}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, profile := provisioner(name), classWith(c.terms...)
			profile.Class.SecurityGroups = []map[string]string{{"Name": "prod-node"}} // of two with the cluster's tag it would warn
			if c.allowed != nil {
				p.Spec.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: c.allowed}}
			}
			m, err := f.Market(t.Context(), p, profile)
			if err != nil {
				t.Fatal(err)
			}
			if m.Blocked != c.blocked || (m.BlockedReason == reasonReservation) != (c.blocked != "") {
				t.Errorf("%s: %s", m.BlockedReason, m.Blocked)
			}
			if got := m.Findings.Warnings().Summary(); got != says {
				t.Errorf("warnings: %s", got)
			}
			if got := reserved(m); len(got) != c.want || got[block].Reservation != "" {
				t.Errorf("offerings of reservations: %+v", got)
			}
			if c.blocked == "" && price(t, m, "m5.large", api.CapacityOnDemand) == 0 {
				t.Error("nothing is sold on demand")
			}
		})
	}
	o := order("one", 1, onDemand("m5.large", "a"))
	o.Node.Profile = classWith(byID(block))
	if d := f.launch(t, o); len(d.Instances) != 1 {
		t.Errorf("%+v", d)
	}
}

// While reservations cannot be looked up, what else a NodePool allows is bought, and a condition says so. A NodePool that
// allows nothing else has no market.
func TestReservationsThatCannotBeLookedUp(t *testing.T) {
	f := start(t)
	id := f.reserve(t, "m5.large", "a", 2)
	profile := classWith(byID(id))
	alone := provisioner("alone")
	alone.Spec.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacityReserved}}}
	if got := reserved(f.market(t, profile))[id]; got.Left != 2 {
		t.Fatalf("%+v", got)
	}
	restore := f.account.Inject(cloud.Fault{Service: "ec2", Action: "DescribeCapacityReservations", Code: "UnauthorizedOperation"})
	f.clock.Step(2 * time.Minute)
	if m := f.market(t, profile); reserved(m)[id].Left != 2 || m.FaultReason != "LookupsOutdated" {
		t.Errorf("soon after the last answer: %+v, fault %q", reserved(m), m.Fault)
	}
	f.clock.Step(9 * time.Minute)
	m := f.market(t, profile)
	if price(t, m, "m5.large", api.CapacityOnDemand) == 0 || len(reserved(m)) > 0 {
		t.Errorf("offerings: %+v", find(t, m, "m5.large").Offerings)
	}
	if m.FaultReason != "ReservationsUnknown" || !strings.Contains(m.Fault, "UnauthorizedOperation") {
		t.Errorf("fault = %q, %q", m.FaultReason, m.Fault)
	}
	if _, err := f.Market(t.Context(), alone, profile); err == nil || !strings.Contains(err.Error(), "UnauthorizedOperation") {
		t.Errorf("a NodePool that allows reservations alone: error %v", err)
	}
	o := order("one", 1, onDemand("m5.large", "a"))
	o.Node.Profile = profile
	if d := f.launch(t, o); len(d.Instances) != 1 {
		t.Errorf("%+v", d)
	}
	restore()
	f.clock.Step(time.Minute)
	if m := f.market(t, profile); reserved(m)[id].Left != 2 || m.Fault != "" {
		t.Errorf("once they can: %+v, fault %q", reserved(m), m.Fault)
	}
}
