package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// term is a required affinity or anti-affinity of many pods that have the same.
type term struct {
	text    string
	anti    bool
	matches func(*corev1.Pod) bool
}

// terms lists the required terms of a pod over a topology key.
func terms(p *corev1.Pod, key string) []term {
	if p.Spec.Affinity == nil {
		return nil
	}
	var out []term
	add := func(anti bool, list []corev1.PodAffinityTerm) {
		for i := range list {
			if t := &list[i]; t.TopologyKey == key {
				out = append(out, term{text: fmt.Sprint(p.Namespace, anti, t.LabelSelector), anti: anti, matches: matcher(p.Namespace, t.LabelSelector)})
			}
		}
	}
	if a := p.Spec.Affinity.PodAffinity; a != nil {
		add(false, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := p.Spec.Affinity.PodAntiAffinity; a != nil {
		add(true, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

// census counts, for one term, by domain.
type census struct {
	term
	carriers map[string]int // pods with the term
	matching map[string]int // pods that it selects
	both     map[string]int
}

// affinity: pods that want company have it and pods that repel are alone. As a
// term works both ways once both pods run, the final state tells.
func (c *checker) affinity(key string) {
	for _, n := range c.censuses(key) {
		founded := 0
		for domain, carriers := range n.carriers {
			if n.anti {
				// A carrier that selects itself bears no other; one that does not, none at all.
				if others := n.matching[domain]; others > 1 || others == 1 && n.both[domain] < carriers {
					c.faultf("%s %s: %d pods repel %d (%s)", key, domain, carriers, others, n.text)
				}
				continue
			}
			if n.matching[domain] == 0 {
				c.faultf("%s %s: %d pods want company and have none (%s)", key, domain, carriers, n.text)
			}
			if n.matching[domain] == n.both[domain] {
				founded++ // only pods of the group itself: one of them came first
			}
		}
		if founded > 1 {
			c.faultf("%s: a group that wants to be together is in %d domains (%s)", key, founded, n.text)
		}
	}
}

func (c *checker) censuses(key string) []*census {
	var out []*census
	known := map[string]*census{}
	for _, h := range c.hosts {
		for _, p := range h.pods {
			for _, t := range terms(p, key) {
				n := known[t.text]
				if n == nil {
					n = &census{term: t, carriers: map[string]int{}, matching: map[string]int{}, both: map[string]int{}}
					known[t.text] = n
					out = append(out, n)
				}
				domain := h.node.Labels[key]
				n.carriers[domain]++
				if t.matches(p) {
					n.both[domain]++
				}
			}
		}
	}
	for _, h := range c.hosts {
		for _, p := range h.pods {
			for _, n := range out {
				if n.matches(p) {
					n.matching[h.node.Labels[key]]++
				}
			}
		}
	}
	return out
}
