package check

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// rule is a required topology spread constraint of many pods that have the same.
type rule struct {
	text    string
	skew    int
	matches func(*corev1.Pod) bool
	domains []string       // that count for the fewest; none for hosts, where a new one has no pods
	count   map[string]int // matching pods placed so far
}

// allows reports whether one more pod may come to the domain.
func (r *rule) allows(domain string, self int) bool {
	fewest := 0
	for i, d := range r.domains {
		if i == 0 || r.count[d] < fewest {
			fewest = r.count[d]
		}
	}
	return r.count[domain]+self-fewest <= r.skew
}

// lot is a number of pods of one domain that no rule can tell apart.
type lot struct {
	domain string
	rules  []int // that the pods have
	counts []int // that count the pods
	left   int
}

// spread: there is an order in which the pods can have come to their places so
// that no rule over the key was broken by any of them at its time. The scheduler
// looks at a rule only when a pod that has it is placed, so the final state alone
// does not tell. The order is searched greedily.
func (c *checker) spread(key string) {
	rules, lots := c.lots(key)
	if len(rules) == 0 {
		return
	}
	if key != corev1.LabelHostname {
		c.order(key, rules, lots)
		return
	}
	for len(lots) > 0 { // hosts do not affect each other
		n := slices.IndexFunc(lots, func(l *lot) bool { return l.domain != lots[0].domain })
		if n < 0 {
			n = len(lots)
		}
		c.order(key, rules, lots[:n])
		lots = lots[n:]
	}
}

// order places the pods of the lots one by one.
func (c *checker) order(key string, rules []*rule, lots []*lot) {
	ok := func(l *lot) bool {
		return !slices.ContainsFunc(l.rules, func(r int) bool {
			self := 0
			if slices.Contains(l.counts, r) {
				self = 1
			}
			return !rules[r].allows(l.domain, self)
		})
	}
	for next := choose(lots, rules, ok); next != nil; next = choose(lots, rules, ok) {
		next.left--
		for _, r := range next.counts {
			rules[r].count[next.domain]++
		}
	}
	for _, l := range lots {
		if l.left > 0 {
			c.faultf("%s %s: %d pods cannot have come there (%s)", key, l.domain, l.left, rules[l.rules[0]].text)
		}
	}
}

// choose takes the pod to be placed next: one with rules that may come now, where
// fewest of its kind are so far; else one without rules, where it helps most.
func choose(lots []*lot, rules []*rule, ok func(*lot) bool) *lot {
	var bound, free *lot
	for _, l := range lots {
		switch {
		case l.left == 0:
		case len(l.rules) == 0:
			if free == nil || height(free, rules) > height(l, rules) {
				free = l
			}
		case (bound == nil || height(bound, rules) > height(l, rules)) && ok(l):
			bound = l
		}
	}
	if bound != nil {
		return bound
	}
	return free
}

// height is how many pods of the lot's kind its domain has.
func height(l *lot, rules []*rule) int {
	most := 0
	for _, r := range l.counts {
		most = max(most, rules[r].count[l.domain])
	}
	return most
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
			at, ok := known[text]
			if !ok {
				at = len(rules)
				known[text] = at
				rules = append(rules, &rule{text: text, skew: int(s.MaxSkew), matches: matcher(p.Namespace, s.LabelSelector), domains: domains, count: map[string]int{}})
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
				l = &lot{domain: domain, rules: byHost[i][k], counts: counts}
				at[id] = l
				lots = append(lots, l)
			}
			l.left++
		}
	}
	slices.SortStableFunc(lots, func(a, b *lot) int { return cmp.Compare(a.domain, b.domain) })
	return rules, lots
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
	zones := c.work.Zones()
	for _, n := range c.work.Nodes {
		if zone := n.Labels[key]; !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	wanted := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: corev1.PodSpec{NodeSelector: zoneSelector(p)}})
	return slices.DeleteFunc(zones, func(zone string) bool {
		ok, err := wanted.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{key: zone}}})
		return err != nil || !ok
	})
}

// zoneSelector is the part of a pod's selector that speaks of zones.
func zoneSelector(p *corev1.Pod) map[string]string {
	if zone, ok := p.Spec.NodeSelector[corev1.LabelTopologyZone]; ok {
		return map[string]string{corev1.LabelTopologyZone: zone}
	}
	return nil
}
