package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topologyText says which constraints on other pods leave no place, and where
// those pods are.
func (s *solver) topologyText(c *class) string {
	var parts []string
	for _, b := range c.follows {
		parts = append(parts, s.followText(b))
	}
	for _, b := range c.attracts {
		if b.drop < 0 {
			parts = append(parts, s.attractText(b))
		}
	}
	for i := range c.spreads {
		if sp := &c.spreads[i]; sp.drop < 0 {
			parts = append(parts, s.spreadText(c, sp))
		}
	}
	for _, b := range c.repels {
		if b.drop < 0 {
			g := s.groups.list[b.group]
			parts = append(parts, "pod anti-affinity over "+g.key+": the pods that it keeps away from are in "+where(g.count))
		}
	}
	if len(parts) > 0 {
		parts = slices.Compact(slices.Sorted(slices.Values(parts)))
		if more := len(parts) - maxMisses; more > 0 {
			parts = append(parts[:maxMisses], fmt.Sprintf("%d more constraints on other pods", more))
		}
		return strings.Join(parts, " and ")
	}
	for _, id := range c.member {
		if g := s.groups.list[id]; len(g.repel) > 0 {
			return "anti-affinity of other pods over " + g.key + " keeps it out of " + where(g.repel)
		}
	}
	return "constraints on other pods leave no node for it"
}

func (s *solver) followText(b bond) string {
	text := "pod affinity over " + s.groups.list[b.group].key
	if s.groups.list[b.group].total == 0 {
		return text + ": there is no pod that it asks for"
	}
	return text + ": no node or machine with a pod that it asks for has room for it"
}

func (s *solver) attractText(b bond) string {
	g := s.groups.list[b.group]
	text := "pod affinity over " + g.key
	if g.total == 0 && !b.self {
		return text + ": there is no pod that it asks for"
	}
	return text + ": the pods that it asks for are in " + where(g.count) + ", where there is no room for it"
}

func (s *solver) spreadText(c *class, sp *spread) string {
	g := s.groups.list[sp.group]
	domains := s.domains(c, sp)
	if len(domains) == 0 {
		return "topology spread over " + g.key + ": no node has that label, and no provisioner gives it"
	}
	count := map[string]int64{}
	for _, d := range domains {
		count[d] = g.count[d]
	}
	text := fmt.Sprintf("topology spread over %s with a skew of at most %d: there are %s", g.key, sp.maxSkew, numbers(count))
	if len(domains) < sp.minDomains {
		text += fmt.Sprintf(", and at least %d domains are asked for", sp.minDomains)
	}
	return text + "; none that may take one more has room"
}

// where lists the domains that have pods.
func where(count map[string]int64) string {
	var out []string
	for _, name := range model.SortedKeys(count) {
		if count[name] > 0 {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return enumerate(out)
}

// numbers says how many pods each domain has: "2 in a, 0 in b".
func numbers(count map[string]int64) string {
	var out []string
	for _, name := range model.SortedKeys(count) {
		out = append(out, fmt.Sprintf("%d in %s", count[name], name))
	}
	return enumerate(out)
}

// enumerate joins a list, and cuts one that is too long to read.
func enumerate(list []string) string {
	if len(list) > model.MaxListed {
		list = append(slices.Clone(list[:model.MaxListed]), "…")
	}
	return strings.Join(list, ", ")
}
