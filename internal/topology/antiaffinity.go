package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// antiAffinity is pod anti-affinity: pods that a pod must not be with, or prefers not to
// be with. It goes both ways: pods that are there keep others away.
type antiAffinity struct{}

func (antiAffinity) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	if t.Affinity == nil || t.Affinity.PodAntiAffinity == nil {
		return b
	}
	return appendEncoded(append(b, 1), t.Affinity.PodAntiAffinity)
}

func (antiAffinity) LabelKeys(t *cluster.Template) []string {
	return match.TermKeys(match.AntiAffinityTerms(t))
}

func (antiAffinity) Steps(r *Rules) int {
	return stepsToRead * len(match.AntiAffinityTerms(r.Template))
}

func (antiAffinity) Read(gs *Groups, r *Rules) error {
	for _, term := range match.AntiAffinityTerms(r.Template) {
		pods, err := gs.foundBy(r.Template, term)
		if err != nil {
			return err
		}
		of := rule{group: gs.addTerm(term.TopologyKey, pods), pref: -1}
		text := "preferred pod anti-affinity over " + term.TopologyKey
		switch byHost := term.TopologyKey == corev1.LabelHostname; {
		case byHost && term.Required():
			r.add(&nodeAntiAffinity{of})
		case byHost:
			r.Soft = append(r.Soft, NodePreference{Text: text, group: of.group})
		default:
			if !term.Required() {
				of.pref = r.addPreference(Preference{Text: text, Weight: term.Weight, prefer: -1})
			}
			r.add(&AntiAffinity{of})
		}
	}
	return nil
}

func (antiAffinity) ReadResident(gs *Groups, t *cluster.Template, r *Resident) {
	for _, term := range match.RequiredTerms(match.AntiAffinityTerms(t)) {
		pods, err := gs.foundBy(t, term)
		if err != nil {
			continue
		}
		if id := gs.addTerm(term.TopologyKey, pods); term.TopologyKey == corev1.LabelHostname {
			r.PerNode = addPerNode(r.PerNode, PerNode{Group: id, Entry: NoCap})
		} else {
			r.Repels = append(r.Repels, id)
		}
	}
}

func (antiAffinity) Company(t *cluster.Template) (perNode int, byDomain bool) {
	return companyOver(match.TopologyKeys(match.RequiredTerms(match.AntiAffinityTerms(t))), 1)
}

// AntiAffinity is a pod anti-affinity over a key other than the host name.
type AntiAffinity struct{ rule }

// AntiAffinities lists those of the class, preferred ones too.
func (r *Rules) AntiAffinities() []*AntiAffinity { return r.antiAffinities }

func (c *AntiAffinity) admits(s *State, _ *Rules, at *DomainAssignment) bool {
	g := s.List[c.group]
	value, ok := at.Value(g.Key)
	return !ok || g.count[value] == 0
}

func (c *AntiAffinity) count(s *State, at *DomainAssignment, n int64) {
	if !c.Required() {
		return
	}
	g := s.List[c.group]
	if value, ok := at.Value(g.Key); ok {
		g.repel[value] += n
	}
}

func (c *AntiAffinity) refusal(s *State, _ *Rules) string {
	if !c.Required() {
		return ""
	}
	g := s.List[c.group]
	return "pod anti-affinity over " + g.Key + ": the pods that it keeps away from are in " + match.Occupied(g.count)
}

// Repelled reports whether pods in the domains keep those of the class away.
func (s *State) Repelled(r *Rules, at *DomainAssignment) bool {
	return slices.ContainsFunc(r.Members, func(id int) bool {
		g := s.List[id]
		value, ok := at.Value(g.Key)
		return ok && g.repel[value] > 0
	})
}

// nodeAntiAffinity is a required pod anti-affinity over the host name.
type nodeAntiAffinity struct{ rule }

func (c *nodeAntiAffinity) perNode() []PerNode { return []PerNode{{Group: c.group, Entry: NoCap}} }
