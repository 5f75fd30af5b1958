package topology

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// affinity is pod affinity: pods that a pod must be with, or prefers to be with.
type affinity struct{ general }

func (affinity) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	if t.Affinity == nil || t.Affinity.PodAffinity == nil {
		return b
	}
	return appendEncoded(append(b, 1), t.Affinity.PodAffinity)
}

func (affinity) LabelKeys(t *cluster.Template) []string {
	return match.TermKeys(match.AffinityTerms(t))
}

func (affinity) Steps(r *Rules) int {
	terms := match.AffinityTerms(r.Template)
	together := len(match.RequiredTerms(terms))
	return stepsToRead*len(terms) + stepsToRelate*together*together
}

func (affinity) Read(gs *Groups, r *Rules) error {
	terms := match.AffinityTerms(r.Template)
	// A pod counts for one of the required terms if all of them find it.
	together, err := gs.foundBy(r.Template, match.RequiredTerms(terms)...)
	if err != nil {
		return err
	}
	for _, term := range terms {
		pods := together
		if !term.Required() {
			if pods, err = gs.foundBy(r.Template, term); err != nil {
				return err
			}
		}
		of := rule{group: gs.addTerm(term.TopologyKey, pods), pref: -1}
		text := "preferred pod affinity over " + term.TopologyKey
		switch byHost := term.TopologyKey == corev1.LabelHostname; {
		case byHost && term.Required():
			r.add(&NodeAffinity{of})
		case byHost:
			r.Soft = append(r.Soft, NodePreference{Text: text, group: of.group, want: true})
		case term.Required():
			r.add(&Affinity{rule: of})
			gs.reunite(r, of)
		default:
			of.pref = r.addPreference(Preference{Text: text, Weight: term.Weight, prefer: -1})
			r.add(&Affinity{rule: of})
		}
	}
	return nil
}

// Company is by domain only: pods that follow others keep none off their nodes.
func (affinity) Company(t *cluster.Template) (perNode int, byDomain bool) {
	return companyOver(match.TopologyKeys(match.RequiredTerms(match.AffinityTerms(t))), NoCap)
}

// Affinity is a pod affinity over a key other than the host name, or a claim that pods share and whose
// volume is going to be in the zone of the first of them.
type Affinity struct {
	rule
	claim string
}

// Affinities lists those of the class, preferred ones too.
func (r *Rules) Affinities() []*Affinity { return r.affinities }

// Together reports whether all pods of the class have to be in one domain, because it has a
// required affinity to pods of its own.
func (r *Rules) Together() bool {
	return slices.ContainsFunc(r.affinities, func(c *Affinity) bool { return c.Required() && c.self })
}

func (c *Affinity) waits() bool { return true }

func (c *Affinity) admits(s *State, r *Rules, at *DomainAssignment) bool {
	g := s.List[c.group]
	if !c.Required() && g.Total == 0 {
		return true // there is nothing to prefer
	}
	value, ok := at.Value(g.Key)
	return ok && (g.count[value] > 0 || slices.Contains(at.Lent, c.group) || c.begins(s, r))
}

func (c *Affinity) refusal(s *State, _ *Rules) string {
	if !c.Required() {
		return ""
	}
	g := s.List[c.group]
	switch {
	case c.claim != "":
		return "the pods that share its persistent volume claim " + c.claim + " are in " + match.Occupied(g.count) + ", where there is no room for it"
	case g.Total == 0 && !c.self:
		return "pod affinity over " + g.Key + ": there is no pod that it asks for"
	}
	return "pod affinity over " + g.Key + ": the pods that it asks for are in " + match.Occupied(g.count) + ", where there is no room for it"
}

// begins reports whether a pod of the class may be where there is none that the affinity asks for.
func (c *Affinity) begins(s *State, r *Rules) bool {
	if c.claim != "" {
		return s.List[c.group].Total == 0
	}
	return c.Required() && r.begins(s)
}

// begins reports whether a pod of the class may be where no pod matches its required affinity:
// it matches the affinity itself, and no pod that exists does.
func (r *Rules) begins(s *State) bool {
	waits := func(c *rule) bool { return c.Required() && (!c.self || s.List[c.group].Total > 0) }
	return !slices.ContainsFunc(r.affinities, func(c *Affinity) bool { return c.claim == "" && waits(&c.rule) }) &&
		!slices.ContainsFunc(r.follows, func(c *NodeAffinity) bool { return waits(&c.rule) })
}

// Mover is a pod that needs a place and still is on a leaving node.
type Mover struct {
	Pod  int // index of the pods that need a place
	Of   *cluster.Template
	Node *cluster.Node
}

// reunite lets pods that have to be together prefer the domains where others of them still are.
func (gs *Groups) reunite(r *Rules, of rule) {
	g, in := gs.List[of.group], map[string]bool{}
	for _, m := range gs.Movers {
		if value, ok := m.Node.Labels[g.Key]; ok && !in[value] && (len(r.Pods) > 1 || r.Pods[0] != m.Pod) && g.Matches(m.Of) {
			in[value] = true
		}
	}
	if len(in) > 0 && g.Matches(r.Template) {
		of.pref = r.addPreference(Preference{Text: "the " + g.Key + " of pods on leaving nodes that it has to be with", rank: rankReunion, prefer: -1})
		r.add(&reunion{of, in})
	}
}

// reunion is a preference of pods that have to be together for the domains where others of them still
// are, on leaving nodes. kube-scheduler lets the first that is evicted into no other domain before the
// last is gone, and a PodDisruptionBudget may keep that one until the first runs again.
type reunion struct {
	rule
	in map[string]bool
}

func (c *reunion) admits(s *State, _ *Rules, at *DomainAssignment) bool {
	value, ok := at.Value(s.List[c.group].Key)
	return ok && (c.in[value] || s.List[c.group].count[value] > 0)
}

// NodeAffinity is a required pod affinity over the host name: the class's pods follow others
// onto their nodes.
type NodeAffinity struct{ rule }

// Follows lists those of the class.
func (r *Rules) Follows() []*NodeAffinity { return r.follows }

// Self reports whether the class's own pods are such.
func (c *NodeAffinity) Self() bool { return c.self }

func (c *NodeAffinity) waits() bool { return true }

func (c *NodeAffinity) admitsOn(s *State, r *Rules, counts NodeCounts, first bool) bool {
	count, _ := counts.Get(c.group)
	return count > 0 || first && r.begins(s)
}

func (c *NodeAffinity) refusal(s *State, _ *Rules) string {
	text := "pod affinity over " + s.List[c.group].Key
	if s.List[c.group].Total == 0 {
		return text + ": there is no pod that it asks for"
	}
	return text + ": no node or machine with a pod that it asks for has room for it"
}

// foundBy returns the pods that all of the terms find.
func (gs *Groups) foundBy(t *cluster.Template, terms ...match.PodTerm) (found, error) {
	out, known := found{}, map[string]bool{}
	for _, term := range terms {
		pods, err := gs.namespaces.Term(t, term.PodAffinityTerm)
		if err != nil {
			return found{}, fmt.Errorf("pod affinity over %s: %w", term.TopologyKey, err)
		}
		if text := pods.String(); !known[text] {
			known[text] = true
			out.selections = append(out.selections, pods)
		}
	}
	out.identity = fmt.Sprintf("%q", slices.Sorted(maps.Keys(known)))
	return out, nil
}

// NeedsCompany reports whether a pod of the class depends on others that are there before it.
func (r *Rules) NeedsCompany() bool {
	return len(r.follows) > 0 || slices.ContainsFunc(r.Affinities(), func(c *Affinity) bool { return c.Required() })
}
