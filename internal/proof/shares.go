package proof

import (
	"math"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bound"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// sharedKeys are the topology keys whose domains can have prices of their own.
var sharedKeys = [...]string{api.LabelZone, api.LabelCapacityType}

// domainIn returns the domain that a machine of an offering is in.
func domainIn(o *model.Offering, key string) string {
	domain, _ := o.Offer.Label(key)
	return domain
}

// addShares adds how many pods each domain has at least of those that are spread over
// zones or capacity types: pods that all keep the same rule cannot leave a domain so far
// behind. For the same reason, no domain has all of them, and so no machine.
func (b *problem) addShares() {
	a := b.s
	for id, g := range a.State.List {
		if g.Key == corev1.LabelHostname || !g.Spread() || id >= len(a.Start.Tallies) || a.State.CountsDaemons(id) {
			continue
		}
		rule, ok := b.ruleOf(id)
		if !ok || len(rule.domains) < rule.minDomains {
			continue
		}
		most := rule.most(a.Start.Tallies[id].In)
		for _, i := range rule.classes {
			b.inDomain[i] = min(b.mostInDomain(i), most)
		}
		key := slices.Index(sharedKeys[:], g.Key)
		if key < 0 || b.alike(g.Key, &rule) {
			continue
		}
		for i, least := range rule.least(a.Start.Tallies[id].In) {
			if least = min(least, rule.planned[rule.domains[i]]); least > 0 {
				b.Shares = append(b.Shares, bound.DomainShare{Key: key, Domain: b.number(key, rule.domains[i]), Classes: rule.classes, Least: least})
			}
		}
	}
}

// domainsOf returns the numbers of the domains, -1 for those of which no share is known.
func (b *problem) domainsOf(domain func(key string) string) []int {
	if len(b.Shares) == 0 {
		return nil
	}
	out := make([]int, len(sharedKeys))
	for i, key := range sharedKeys {
		id, known := b.domains[i][domain(key)]
		if out[i] = id; !known {
			out[i] = -1
		}
	}
	return out
}

// alike reports whether it makes no difference to the price in which domains pods are: each
// has, for each class, the same cheapest offering for a pod, a core and a byte.
func (b *problem) alike(key string, rule *spreadRule) bool {
	a := b.s
	cpu, memory := slices.Index(a.Space.Names, amount.CPU), slices.Index(a.Space.Names, amount.Memory)
	for _, i := range rule.classes {
		p := &b.placed[i]
		least := map[string][3]float64{}
		for k := range b.highest(p).All {
			o := &a.Offerings[k]
			at, price := domainIn(o, key), float64(o.Price)
			each := [3]float64{price, price / float64(max(1, o.Room[cpu])), price / float64(max(1, o.Room[memory]))}
			if known, ok := least[at]; ok {
				for j := range each {
					each[j] = min(each[j], known[j])
				}
			}
			least[at] = each
		}
		for _, d := range rule.domains {
			if least[d] != least[rule.domains[0]] {
				return false
			}
		}
	}
	return true
}

// number returns the number of a domain, and gives it one.
func (b *problem) number(key int, domain string) int {
	if b.domains[key] == nil {
		b.domains[key] = map[string]int{}
	}
	if _, known := b.domains[key][domain]; !known {
		b.domains[key][domain] = len(b.domains[key])
	}
	return b.domains[key][domain]
}

// spreadRule is a topology spread that all placed pods which it counts have themselves.
type spreadRule struct {
	classes    []int
	domains    []string
	maxSkew    int64
	minDomains int
	pods       int64
	planned    map[string]int64 // new pods by domain
}

// ruleOf returns the rule of a group, or false where pods that it counts do not keep it,
// or have several node selector terms, each of which may allow other domains.
func (b *problem) ruleOf(group int) (spreadRule, bool) {
	a, out := b.s, spreadRule{planned: map[string]int64{}}
	for i, p := range b.placed {
		if !slices.Contains(p.class.Members, group) {
			continue
		}
		sp, ok := p.class.Keeps(group, p.level.Relaxed)
		if !ok || p.lump > 1 || len(p.others) > 0 {
			return out, false
		}
		domains := a.State.Domains(p.class.Rules, sp)
		if out.domains != nil && !slices.Equal(domains, out.domains) {
			return out, false
		}
		out.classes, out.domains, out.pods = append(out.classes, i), domains, out.pods+p.n
		out.maxSkew, out.minDomains = max(out.maxSkew, sp.MaxSkew), max(out.minDomains, sp.MinDomains)
	}
	b.countPlanned(group, out.planned)
	return out, len(out.classes) > 0
}

// countPlanned counts the pods of a group that the plan adds, by domain.
func (b *problem) countPlanned(group int, to map[string]int64) {
	a := b.s
	key := a.State.List[group].Key
	for _, m := range a.Machines() {
		for _, p := range m.Placed {
			if slices.Contains(p.Class.Members, group) {
				to[domainIn(&a.Offerings[m.Offering], key)] += p.N
			}
		}
	}
	for _, p := range a.OnNodes() {
		if slices.Contains(p.Class.Members, group) {
			to[p.Node.Labels[key]] += p.N
		}
	}
}

// least returns how many pods come to each domain at least, with these counts before. No
// domain to which pods came has more than the fewest of any domain and the skew in the
// end, so that the fewest cannot be so few that all pods find no place.
func (r *spreadRule) least(before func(string) int64) []int64 {
	total, fewest := r.pods, int64(math.MaxInt64)
	for _, d := range r.domains {
		total += before(d)
		fewest = min(fewest, before(d))
	}
	for r.holds(before, fewest) < total {
		fewest++
	}
	out := make([]int64, len(r.domains))
	for i, d := range r.domains {
		out[i] = max(0, fewest-before(d))
	}
	return out
}

// most returns how many pods come to one domain at most, with these counts before: all others must
// have as many but for the skew.
func (r *spreadRule) most(before func(string) int64) (most int64) {
	for _, d := range r.domains {
		fits := func(n int64) bool {
			needed := n
			for _, other := range r.domains {
				if other != d {
					needed += max(0, before(d)+n-r.maxSkew-before(other))
				}
			}
			return needed <= r.pods
		}
		n := int64(sort.Search(int(r.pods), func(n int) bool { return !fits(int64(n) + 1) }))
		most = max(most, n, r.planned[d])
	}
	return most
}

// holds returns how many pods all domains have at most where the fewest are so many.
func (r *spreadRule) holds(before func(string) int64, fewest int64) int64 {
	sum, least := int64(0), int64(math.MaxInt64)
	for _, d := range r.domains {
		most := max(before(d), fewest+r.maxSkew)
		sum += most
		if before(d) <= fewest {
			least = min(least, fewest-most)
		}
	}
	return sum + least
}
