package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// rule is a required topology spread constraint of many pods that have the same.
type rule struct {
	text    string
	skew    int
	matches func(*corev1.Pod) bool
	domains []string // that count for the fewest; none for hosts, where a new one has no pods
	fewest  int      // pods on each host where a pod with the rule may be
}

// lot is a number of pods of one domain that no rule can tell apart.
type lot struct {
	domain string
	rules  []int // that the pods have
	counts []int // that count the pods
	pods   int
	exists bool // on a node that there is: its scheduler waits for no machine that could be bought
}

// spread: there is an order in which the pods can have come to their places so
// that no rule over the key was broken by any of them at its time. The scheduler
// looks at a rule only when a pod that has it is placed, so the final state alone
// does not tell.
func (c *checker) spread(key string) {
	rules, lots := c.lots(key)
	if len(rules) == 0 {
		return
	}
	stuck := orderZones
	if key == corev1.LabelHostname {
		stuck = orderHosts
	}
	for _, l := range stuck(rules, lots) {
		c.faultf("%s %s: %d pods cannot have come there (%s)", key, l.domain, l.pods, rules[l.rules[0]].text)
	}
}

// lots groups the pods that a rule over the key concerns, by domain.
func (c *checker) lots(key string) ([]*rule, []*lot) {
	var rules []*rule
	known := map[string]int{}
	of := func(p *corev1.Pod) []int {
		var out []int
		for i := range p.Spec.TopologySpreadConstraints {
			s := &p.Spec.TopologySpreadConstraints[i]
			if s.TopologyKey != key || s.WhenUnsatisfiable != corev1.DoNotSchedule {
				continue
			}
			domains := c.domains(key, p)
			text := fmt.Sprint(p.Namespace, s.MaxSkew, s.LabelSelector, domains)
			if key == corev1.LabelHostname {
				text += Asks(p)
			}
			at, ok := known[text]
			if !ok {
				at = len(rules)
				known[text] = at
				r := &rule{text: text, skew: int(s.MaxSkew), matches: matcher(p.Namespace, s.LabelSelector), domains: domains}
				if key == corev1.LabelHostname {
					r.fewest = c.fewest(p, r)
				}
				rules = append(rules, r)
			}
			out = append(out, at)
		}
		return out
	}
	byHost := make([][][]int, len(c.hosts))
	for i, h := range c.hosts {
		for _, p := range h.pods {
			byHost[i] = append(byHost[i], of(p))
		}
	}
	var lots []*lot
	at := map[string]*lot{}
	for i, h := range c.hosts {
		for k, p := range h.pods {
			counts := countedBy(rules, p)
			if len(counts)+len(byHost[i][k]) == 0 {
				continue
			}
			domain := h.node.Labels[key]
			id := fmt.Sprint(domain, byHost[i][k], counts)
			l := at[id]
			if l == nil {
				l = &lot{domain: domain, rules: byHost[i][k], counts: counts, exists: !h.isNew}
				at[id] = l
				lots = append(lots, l)
			}
			l.pods++
		}
	}
	slices.SortStableFunc(lots, func(a, b *lot) int { return cmp.Compare(a.domain, b.domain) })
	return rules, lots
}

// fewest is how many pods that the rule counts are on each host where the pod may be.
func (c *checker) fewest(p *corev1.Pod, r *rule) int {
	fewest := -1
	for _, h := range c.wanted(p) {
		n := 0
		for _, other := range h.pods {
			if r.matches(other) {
				n++
			}
		}
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return max(0, fewest)
}

// wanted lists the hosts that the pod's node selector and required node affinity allow.
func (c *checker) wanted(p *corev1.Pod) []*host {
	wanted := nodeaffinity.GetRequiredNodeAffinity(p)
	return slices.DeleteFunc(slices.Clone(c.hosts), func(h *host) bool {
		ok, err := wanted.Match(h.node)
		return err != nil || !ok
	})
}

func countedBy(rules []*rule, p *corev1.Pod) []int {
	var out []int
	for i, r := range rules {
		if r.matches(p) {
			out = append(out, i)
		}
	}
	return out
}

// domains lists the zones that a pod can go to, those included where machines can
// only be bought.
func (c *checker) domains(key string, p *corev1.Pod) []string {
	if key != corev1.LabelTopologyZone {
		return nil
	}
	id := Asks(p)
	if out, known := c.zones[id]; known {
		return out
	}
	zones := map[string]bool{}
	for _, h := range c.wanted(p) {
		zones[h.node.Labels[key]] = true
	}
	for _, zone := range c.work.Zones() {
		if !zones[zone] && c.buys(zone, p) {
			zones[zone] = true
		}
	}
	out := slices.Sorted(maps.Keys(zones))
	c.zones[id] = out
	return out
}

// buys reports whether a machine that admits the pod can be bought in the zone.
func (c *checker) buys(zone string, p *corev1.Pod) bool {
	for _, pool := range c.work.Pools() {
		for i := range c.work.Types {
			t := &c.work.Types[i]
			for _, o := range t.Offerings {
				if o.Zone != zone {
					continue
				}
				if node := NodeOf(pool, t, zone, o.CapacityType); admitted(node, p) && Sells(pool, node) {
					return true
				}
			}
		}
	}
	return false
}
