package topology

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Group is a set of pods that a constraint counts by topology domain: those that
// all its selections find, or those that a constraint tells otherwise.
type Group struct {
	Key        string // topology key
	selections []match.PodSelection
	pods       func(*cluster.Template) bool // tells its pods where there are no selections
	volumes    bool                         // it counts attached volumes rather than pods
	ofNode     bool                         // it counts on nodes without a host name, too
	spread     bool                         // a topology spread counts it
	required   bool                         // one of these must not be violated
	// Only nodes that match one of these count, for topology spread.
	nodes       []match.Requirements
	tolerations []corev1.Toleration // nil unless taints keep nodes from counting
	// labelled are further keys that nodes need to count: a pod with several spreads
	// counts only nodes that have the keys of all.
	labelled []string

	Tally
	removed int // how often pods were taken away, see Spread.least
}

// Tally is what a group counts.
type Tally struct {
	// By domain, for keys other than the host name: the pods of the group, and
	// the pods elsewhere that must not share a domain with one.
	count map[string]int64
	repel map[string]int64
	Total int64 // pods of the group in all domains
}

// In returns how many pods of the group there are in a domain.
func (t Tally) In(domain string) int64 { return t.count[domain] }

func (t Tally) clone() Tally {
	return Tally{count: maps.Clone(t.count), repel: maps.Clone(t.repel), Total: t.Total}
}

// OfVolumes reports whether volumes are counted rather than pods.
func (g *Group) OfVolumes() bool { return g.volumes }

// keys lists what a node needs to count.
func (g *Group) keys() []string { return append([]string{g.Key}, g.labelled...) }

// Matches reports whether the pods of a template belong to the group.
func (g *Group) Matches(t *cluster.Template) bool {
	if g.volumes {
		return false
	}
	if g.pods != nil {
		return g.pods(t)
	}
	return !slices.ContainsFunc(g.selections, func(pods match.PodSelection) bool { return !pods.Finds(t) })
}

// Selective reports whether some nodes with the group's key may not count.
func (g *Group) Selective() bool {
	return len(g.labelled) > 0 || g.nodes != nil || g.tolerations != nil
}

// Counts reports whether pods on a node count, by the group's node policies.
func (g *Group) Counts(n *model.Node) bool {
	for _, key := range g.labelled {
		if _, ok := n.Labels[key]; !ok && (key != corev1.LabelHostname || n.HostLess()) {
			return false
		}
	}
	if g.nodes != nil && !slices.ContainsFunc(g.nodes, func(r match.Requirements) bool { return match.Meets(r, n.Node) }) {
		return false
	}
	return g.tolerations == nil || match.Untolerated(n.Taints, g.tolerations, false) == nil
}

// Groups registers every group once.
type Groups struct {
	List       []*Group
	byKey      map[string]int
	namespaces match.Namespaces
	expected   []*cluster.Template
	census     *census // of what is expected, once that is needed
	index      index
	Movers     []Mover // all of them, before rules are read
}

// NewGroups returns no groups, of pods in the namespaces.
func NewGroups(namespaces []cluster.Namespace) *Groups {
	return &Groups{
		byKey: map[string]int{}, namespaces: match.NewNamespaces(namespaces),
		index: index{byLabel: map[label][]int{}, byKey: map[string][]int{}},
	}
}

func (gs *Groups) add(identity string, g *Group) int {
	identity = g.Key + "\x00" + identity
	id, ok := gs.byKey[identity]
	if !ok {
		id = len(gs.List)
		gs.byKey[identity] = id
		g.Tally = Tally{count: map[string]int64{}, repel: map[string]int64{}}
		gs.List = append(gs.List, g)
	}
	return id
}

// found is what a pod affinity term finds, or several together.
type found struct {
	selections []match.PodSelection
	identity   string
}

// addTerm registers the group of the pods that are found over a topology key.
func (gs *Groups) addTerm(key string, pods found) int {
	return gs.add(pods.identity, &Group{Key: api.NormalizeLabel(key), selections: pods.selections})
}

// Spread reports whether a topology spread counts the group.
func (g *Group) Spread() bool { return g.spread }
