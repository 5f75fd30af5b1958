package topology

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topologySpread are topology spread constraints: of the pods that a selector finds, no
// domain may have many more than another.
type topologySpread struct{ general }

func (topologySpread) AppendKey(b []byte, t *cluster.Template, _ match.Needs) []byte {
	for i := range t.Spread {
		b = part(b, func(b []byte) []byte { return appendEncoded(b, &t.Spread[i]) })
	}
	return b
}

func (topologySpread) LabelKeys(t *cluster.Template) []string {
	var out []string
	for i := range t.Spread {
		out = append(append(out, match.SelectorKeys(t.Spread[i].LabelSelector)...), t.Spread[i].MatchLabelKeys...)
	}
	return out
}

func (topologySpread) Steps(r *Rules) int {
	n, places := len(r.Template.Spread), 0
	for _, place := range r.Places {
		places += place.Size()
	}
	return n*stepsToRead + n*n*stepsToRelate + n*places*model.StepsToSpell
}

func (topologySpread) Read(gs *Groups, r *Rules) error {
	for i := range r.Template.Spread {
		c := &r.Template.Spread[i]
		id, err := gs.addSpread(r.Template, c, r.Places)
		if err != nil {
			return err
		}
		of, soft := rule{group: id, pref: -1}, c.WhenUnsatisfiable == corev1.ScheduleAnyway
		g := gs.List[id]
		g.spread, g.required = true, g.required || !soft
		text := "topology spread over " + c.TopologyKey
		switch byHost := c.TopologyKey == corev1.LabelHostname; {
		case byHost && soft:
			r.Soft = append(r.Soft, NodePreference{Text: text, group: id, cap: int64(c.MaxSkew)})
		case byHost:
			r.add(&NodeSpread{rule: of, maxSkew: int64(c.MaxSkew), minNodes: int(ptr.Deref(c.MinDomains, 1))})
		default:
			if soft {
				of.pref = r.addPreference(Preference{Text: text, rank: rankSpread, prefer: -1})
			}
			r.add(&Spread{rule: of, MaxSkew: int64(c.MaxSkew), MinDomains: int(ptr.Deref(c.MinDomains, 1))})
		}
	}
	return nil
}

func (topologySpread) Company(t *cluster.Template) (perNode int, byDomain bool) {
	perNode = NoCap
	for i := range t.Spread {
		if c := &t.Spread[i]; c.WhenUnsatisfiable == corev1.DoNotSchedule {
			node, domain := companyOver([]string{c.TopologyKey}, int(c.MaxSkew))
			perNode, byDomain = min(perNode, node), byDomain || domain
		}
	}
	return perNode, byDomain
}

// Spread is a topology spread constraint over a key other than the host name.
type Spread struct {
	rule
	MaxSkew    int64
	MinDomains int
	domains    []string // filled on first use
	// least is the smallest count of the domains, which the one at next had when it was looked
	// at last, and those before it no more. It holds until pods of the group are taken away.
	least         int64
	next, removed int
}

// Spreads lists those of the class, preferred ones too.
func (r *Rules) Spreads() []*Spread { return r.spreads }

// SpreadBy reports whether a spread of the class itself counts the group. It counts all nodes on which the class's pods
// may be: these have the labels of its required spreads, meet its node affinity and have no taint that it does not tolerate.
func (r *Rules) SpreadBy(group int) bool {
	return slices.ContainsFunc(r.spreads, func(c *Spread) bool { return c.group == group }) ||
		slices.ContainsFunc(r.nodeSpreads, func(c *NodeSpread) bool { return c.group == group }) ||
		slices.ContainsFunc(r.Soft, func(p NodePreference) bool { return p.group == group })
}

func (c *Spread) evens() int  { return c.group }
func (c *Spread) waits() bool { return true }

func (c *Spread) admits(s *State, r *Rules, at *DomainAssignment) bool {
	g := s.List[c.group]
	value, ok := at.Value(g.Key)
	return ok && g.count[value]+c.own()-s.fewest(r, c) <= c.MaxSkew
}

// own is 1 where the class's pods count.
func (c *Spread) own() int64 {
	if c.self {
		return 1
	}
	return 0
}

func (c *Spread) refusal(s *State, r *Rules) string {
	if !c.Required() {
		return ""
	}
	g := s.List[c.group]
	domains := s.Domains(r, c)
	if len(domains) == 0 {
		return "topology spread over " + g.Key + ": no node has that label, and no provisioner gives it"
	}
	count := map[string]int64{}
	for _, d := range domains {
		count[d] = g.count[d]
	}
	text := fmt.Sprintf("topology spread over %s with a skew of at most %d: there are %s", g.Key, c.MaxSkew, match.Counts(count))
	if len(domains) < c.MinDomains {
		text += fmt.Sprintf(", and at least %d domains are required", c.MinDomains)
	}
	return text + "; none that may take one more has room"
}

// fewest returns the smallest count of a spread's domains, 0 while there are
// fewer domains than it wants.
func (s *State) fewest(r *Rules, c *Spread) int64 {
	g, domains := s.List[c.group], s.Domains(r, c)
	if len(domains) < max(1, c.MinDomains) {
		return 0
	}
	from := c.next
	for c.next < len(domains) && g.count[domains[c.next]] > c.least {
		c.next++
	}
	s.supply.Effort.Spend(1 + c.next - from)
	if c.next == len(domains) || c.removed != g.removed {
		s.supply.Effort.Spend(2 * len(domains))
		c.removed, c.next, c.least = g.removed, 0, g.count[domains[0]]
		for i, d := range domains {
			if n := g.count[d]; n < c.least {
				c.next, c.least = i, n
			}
		}
	}
	return c.least
}

// Domains lists the values of a spread's key that count: those of nodes, and
// those in which the class's required places could be bought.
func (s *State) Domains(r *Rules, c *Spread) []string {
	if c.domains != nil {
		return c.domains
	}
	g := s.List[c.group]
	s.supply.Effort.Begin(r.Account)
	seen := map[string]bool{}
	for _, value := range s.present(g) {
		seen[value] = true
	}
	keys := slices.DeleteFunc(g.keys(), func(key string) bool { return key == corev1.LabelHostname })
	slices.Sort(keys) // so that all spreads of a pod ask for the same combinations
	mine := slices.Index(keys, g.Key)
	for _, place := range r.Places {
		o := s.supply.OptionsFor(place, r.Template.Tolerations, r.Tolerates, false)
		combinations := s.supply.CombinationsOf(o, keys)
		s.supply.Effort.Spend(len(combinations) * len(keys))
		for _, at := range combinations {
			if !slices.ContainsFunc(at.Domains, func(d model.Domain) bool { return !d.Known }) {
				seen[at.Domains[mine].Value] = true
			}
		}
	}
	c.domains, c.next = model.SortedKeys(seen), len(seen)
	return c.domains
}

// NodeSpread is a topology spread constraint over the host name. How far it goes is one
// of the class's constraints by node.
type NodeSpread struct {
	rule
	maxSkew int64
	// minNodes is from how many nodes on it is about the node with the fewest pods, and
	// not about none.
	minNodes int
	least    int64 // pods that every node has, when it was looked at last
}

func (c *NodeSpread) perNode() []PerNode {
	return []PerNode{{Group: c.group, Cap: c.maxSkew, Entry: c.maxSkew}}
}

// RelateNodeSpreads lets spreads over host names go further by what every node has that
// counts, and every node that may join: of pods of DaemonSets, which it gets at once. Where
// no node that counts may join, this is what the nodes have by now. The planned machines
// count as nodes of which a spread may want so many.
func (s *State) RelateNodeSpreads(classes []*Rules, planned []*model.Node) {
	for _, r := range classes {
		of := r.nodeSpreads
		for _, c := range of {
			p, least := find(r.PerNode, c.group), s.leastOnNodes(c.group)
			if least > 0 && s.nodesThatCount(c.group, planned) < c.minNodes {
				least = 0
			}
			p.Cap += least - c.least
			p.Entry += least - c.least
			c.least = least
		}
		r.PerNodeLate = slices.Clone(r.PerNode)
		for _, c := range of {
			find(r.PerNodeLate, c.group).Cap = NoCap
		}
	}
}

// daemonsIn reports whether pods of DaemonSets belong to a group counted by node.
func (s *State) daemonsIn(group int) bool {
	return slices.ContainsFunc(s.Daemons, func(d *Resident) bool { return belongs(d.PerNode, group) })
}

// leastOnNodes returns the fewest pods of a group that any node has, among those
// that count; of a node that may join once only DaemonSets run.
func (s *State) leastOnNodes(group int) int64 {
	g := s.List[group]
	least := int64(math.MaxInt64)
	counting := s.countingOfferings(g)
	for _, c := range crewsOf(s) {
		if count, _ := c.counts.Get(group); count < least && c.on.Meets(counting) {
			least = count
		}
	}
	for _, n := range slices.Concat(s.Nodes, s.Closed) {
		if !n.HostLess() && g.Counts(n.Node) {
			count, _ := n.Counts.Get(group)
			least = min(least, count)
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// nodesThatCount returns how many nodes, that exist or are planned, count for a group; at
// least 1, since a pod that is placed has one.
func (s *State) nodesThatCount(group int, planned []*model.Node) int {
	g, n := s.List[group], 0
	for _, of := range slices.Concat(s.Nodes, s.Closed) {
		if !of.HostLess() && g.Counts(of.Node) {
			n++
		}
	}
	for _, of := range planned {
		if g.Counts(of) {
			n++
		}
	}
	return max(1, n)
}

// countingOfferings returns the offerings whose nodes count for a group.
func (s *State) countingOfferings(g *Group) model.Bitset {
	tolerations := g.tolerations
	if tolerations == nil {
		tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	places := g.nodes
	if places == nil {
		places = []match.Requirements{nil}
	}
	out := model.NewBitset(len(s.supply.Offerings))
	for _, place := range places {
		out.Join(s.supply.OptionsFor(place, tolerations, model.TolerationKey(tolerations), false).Offerings)
	}
	return out
}

// addSpread registers the group that a topology spread constraint counts.
func (gs *Groups) addSpread(t *cluster.Template, c *corev1.TopologySpreadConstraint, places []match.Requirements) (int, error) {
	pods, err := match.SpreadSelection(t, c)
	if err != nil {
		return 0, fmt.Errorf("topology spread over %s: %w", c.TopologyKey, err)
	}
	g := &Group{Key: api.NormalizeLabel(c.TopologyKey), selections: []match.PodSelection{pods}, labelled: match.OtherSpreadKeys(t, c)}
	identity := []string{pods.String(), strings.Join(g.labelled, ",")}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		g.nodes = match.PlacesWithoutVolumes(t, places)
		for _, r := range g.nodes {
			identity = append(identity, r.String())
		}
	}
	if c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		g.tolerations = append([]corev1.Toleration{}, t.Tolerations...)
		identity = append(identity, "\x01"+model.TolerationKey(t.Tolerations))
	}
	return gs.add(strings.Join(identity, "\x00"), g), nil
}
