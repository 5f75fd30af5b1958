package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/learnt"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// markets caches the last market of each Provisioner until something changes that it was made
// of. Provisioners whose markets are made of the same share one, because a market takes some
// megabytes. Markets that nobody asks for any more, such as those of deleted Provisioners, go.
type markets struct {
	now  func() time.Time
	mu   sync.Mutex
	last map[string]knownMarket // by Provisioner
}

type knownMarket struct {
	asked     time.Time // when it was last asked for
	key       string
	catalogue *offer.Catalogue
	types     []offer.InstanceType
	index     *offer.Index
}

// marketUnusedFor is how long a market is kept after its last use. By default, the agent asks
// for the market of each Provisioner at least once a minute.
const marketUnusedFor = 10 * time.Minute

func newMarkets(now func() time.Time) *markets {
	return &markets{now: now, last: map[string]knownMarket{}}
}

// Market returns what a Provisioner may buy with a node profile: the instance types that are
// sold in the profile's zones and run one of its images. The result is shared with later calls
// and must not be changed. If a selector finds nothing, Market returns no error, but says so
// in the market's Blocked.
func (c *Cloud) Market(ctx context.Context, p *api.Provisioner, profile *api.NodeProfile) (offer.Market, error) {
	looking, outdated := client.CollectOutdated(ctx)
	r, err := c.resolve(looking, profile)
	if err != nil {
		return offer.Market{}, fmt.Errorf("read the market of %s: %w", p.Name, err)
	}
	if r.noReservations != nil && reservedAlone(p) {
		return offer.Market{}, fmt.Errorf("read the market of %s: %w", p.Name, r.noReservations)
	}
	market := offer.Market{
		ProfileHash: r.profile.Hash(),
		Status:      r.status(c.now()), Findings: slices.Concat(r.doubts(), r.doubtGroups(c.options.ClusterName)), Blocked: r.blocked, BlockedReason: r.reason,
	}
	market.AddFault(outdated.Fault())
	if unused, all := r.unsupported(); len(unused) > 0 {
		text := "spec.capacityReservationSelectorTerms of its EC2NodeClass: " + strings.Join(unused, " and ") + ", which is not supported"
		market.Findings = append(market.Findings, finding.Finding{Text: finding.Plain(text), Advice: finding.Plain("select other reservations")})
		if all && reservedAlone(p) && market.Blocked == "" {
			market.BlockedReason, market.Blocked = reasonReservation, text+"; select other reservations"
		}
	}
	if market.Blocked != "" {
		return market, nil
	}
	catalogue, err := c.stock.Get(ctx, namedTypes(p)...)
	if err != nil {
		return offer.Market{}, fmt.Errorf("read the market of %s: %w", p.Name, err)
	}
	market.Estimate = c.stock.Estimate()
	market.AddFault(c.stock.Fault())
	if r.noReservations != nil {
		market.AddFault(reasonReservationsUnknown, fmt.Sprintf("capacity reservations are not used, because they are not known: %s", r.noReservations))
	}
	known := c.markets.of(p.Name, c.marketKey(p, r), catalogue, func() []offer.InstanceType {
		return c.types(catalogue, r, p)
	})
	market.Types, market.Index = known.types, known.index
	if len(market.Types) == 0 {
		market.BlockedReason = reasonNoInstanceTypes
		market.Blocked = fmt.Sprintf("no instance type in the zones %s runs one of the images", strings.Join(r.zones(), ", "))
	}
	return market, nil
}

// doubts returns a warning if machines may get the rights of another role than their EC2NodeClass names.
func (r *resolved) doubts() finding.List {
	if r.role.Doubt == nil {
		return nil
	}
	text := fmt.Sprintf("spec.role of its EC2NodeClass: its status names the instance profile %s, which may have another role: %s", r.role.Name, r.role.Doubt)
	return finding.List{{Text: finding.Plain(text), Advice: finding.Plain("name the instance profile in spec.instanceProfile, or let the agent ask IAM")}}
}

// usualGroups is how many security groups EC2 allows on a network interface unless AWS has raised the quota.
const usualGroups = 5

// doubtGroups returns warnings about security groups that are probably too many.
func (r *resolved) doubtGroups(cluster string) finding.List {
	field := "spec.securityGroupSelector of its node profile"
	if r.profile.Class != nil {
		field = "spec.securityGroupSelectorTerms of its EC2NodeClass"
	}
	var out finding.List
	warn := func(text, advice string) {
		out = append(out, finding.Finding{Text: finding.Plain(field + ": " + text), Advice: finding.Plain(advice)})
	}
	var tagged []string
	for _, g := range r.securityGroups {
		if slices.Contains(g.Clusters, cluster) {
			tagged = append(tagged, g.ID)
		}
	}
	if len(tagged) > 1 {
		warn(fmt.Sprintf("the security groups %s all have the tag %s%s, but load balancers of Services can only use machines with exactly one such group",
			strings.Join(tagged, ", "), api.TagClusterPrefix, cluster), "select one of them by its id, or remove the tag from the others")
	}
	if found := len(r.securityGroups); found > usualGroups {
		warn(fmt.Sprintf("%d security groups match, but EC2 allows %d on a network interface unless AWS has raised the quota", found, usualGroups), "select fewer")
	}
	return out
}

// namedTypes returns the instance types that a Provisioner requires by name.
func namedTypes(p *api.Provisioner) []string {
	var out []string
	for _, r := range p.Spec.Requirements {
		if r.Operator == api.OpIn && api.NormalizeLabel(r.Key) == api.LabelInstanceType {
			out = append(out, r.Values...)
		}
	}
	return out
}

// types returns the instance types that run an image of the profile.
func (c *Cloud) types(catalogue *offer.Catalogue, r *resolved, p *api.Provisioner) []offer.InstanceType {
	settings := c.settings(r, p.Spec.KubeletConfiguration)
	room := lookup.Roomiest(r.subnets)
	settings.Unavailable = func(h *offer.Hardware, zone, capacityType string) string {
		if _, ok := room[zone]; !ok {
			return "no free address in a subnet of " + zone
		}
		return c.shortages.reason(offer.Candidate{InstanceType: h.Name, Zone: zone, CapacityType: capacityType}, r.setup, h.VCPUs)
	}
	types := catalogue.Types(settings)
	c.addReserved(types, r, room)
	at, ownPods := learnt.Setup{Kubelet: learnt.KubeletKey(p.Spec.KubeletConfiguration), Profile: r.profile.SizeHash(), Provisioner: p.Name}, r.ownPods()
	return slices.DeleteFunc(types, func(t offer.InstanceType) bool {
		at.Model = learnt.Model{InstanceType: t.Name}
		if r.profile.LaunchTemplate == nil {
			im, ok := lookup.ImageFor(r.images, t.Labels)
			if !ok {
				return true
			}
			t.Labels[api.LabelInstanceAMIID], at.ImageID = []string{im.ID}, im.ID
		}
		c.learnt.Correct(&t, at, ownPods)
		return false
	})
}

// Learn remembers what a node reported when it registered, for the predictions of later
// markets. Repeating it is cheap.
func (c *Cloud) Learn(o offer.Observed) { c.learnt.Add(o) }

// Learnt returns the memory capacities that Learn has remembered, sorted by instance type and
// image.
func (c *Cloud) Learnt() []offer.Learnt { return c.learnt.List() }

// ownPods reports whether user data, or a launch template, of the user's own may say how many pods a
// kubelet takes.
func (r *resolved) ownPods() bool {
	return r.profile.UserData != nil || r.profile.LaunchTemplate != nil || r.family == api.FamilyCustom
}

// marketKey identifies everything but the catalogue that a market depends on.
func (c *Cloud) marketKey(p *api.Provisioner, r *resolved) string {
	room := lookup.Roomiest(r.subnets)
	full := slices.DeleteFunc(r.zones(), func(zone string) bool { _, ok := room[zone]; return ok })
	var images, left []any
	for _, im := range r.images {
		images = append(images, im.ID, im.Requirements)
	}
	for _, of := range r.reservations {
		left = append(left, of.ID, of.InstanceType, of.Zone, of.Left, of.Unsupported())
	}
	key, err := json.Marshal([]any{
		p.Spec.KubeletConfiguration, r.profile.SizeHash(), r.family, r.zones(), full, images, left,
		c.shortages.state(), c.shortages.own(r.setup), c.learnt.State(p.Name),
	})
	if err != nil {
		return "" // equals no other
	}
	return string(key)
}

// of returns the market of a Provisioner. If the key or the catalogue has changed, it returns the
// market of another Provisioner with the same key and catalogue, or computes one. The lock is held
// meanwhile, so that Provisioners with the same key do not compute it twice.
func (m *markets) of(provisioner, key string, catalogue *offer.Catalogue, compute func() []offer.InstanceType) knownMarket {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	same := func(known knownMarket) bool { return key != "" && known.key == key && known.catalogue == catalogue }
	use := func(known knownMarket) knownMarket {
		known.asked = now
		m.last[provisioner] = known
		return known
	}
	if known := m.last[provisioner]; same(known) {
		return use(known)
	}
	maps.DeleteFunc(m.last, func(_ string, known knownMarket) bool { return now.Sub(known.asked) >= marketUnusedFor })
	for _, known := range m.last {
		if same(known) {
			return use(known)
		}
	}
	types := compute()
	return use(knownMarket{key: key, catalogue: catalogue, types: types, index: offer.NewIndex(types)})
}
