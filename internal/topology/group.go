package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Group is a set of pods that a constraint counts by topology domain: those that
// all its finders find, or those that a constraint tells otherwise.
type Group struct {
	Key     string // topology key
	finders []finder
	pods    func(*cluster.Template) bool // tells its pods where there are no finders
	volumes bool                         // it counts attached volumes rather than pods
	spread  bool                         // a topology spread counts it
	// Only nodes that match one of these count, for topology spread.
	nodes       []match.Requirements
	tolerations []corev1.Toleration // nil unless taints keep nodes from counting
	// labelled are further keys that nodes need to count: a pod with several spreads
	// counts only nodes that have the keys of all.
	labelled []string

	Tally
}

// Tally is what a group counts.
type Tally struct {
	// By domain, for keys other than the host name: the pods of the group, and
	// the pods elsewhere that must not share a domain with one.
	count map[string]int64
	repel map[string]int64
	Total int64 // pods of the group in all domains
}

func newTally() Tally { return Tally{count: map[string]int64{}, repel: map[string]int64{}} }

// In returns how many pods of the group there are in a domain.
func (t Tally) In(domain string) int64 { return t.count[domain] }

func (t Tally) clone() Tally {
	return Tally{count: maps.Clone(t.count), repel: maps.Clone(t.repel), Total: t.Total}
}

// finder finds pods by their labels in some namespaces.
type finder struct {
	selector   labels.Selector
	namespaces map[string]bool // nil: all
}

func (f finder) finds(t *cluster.Template) bool {
	return (f.namespaces == nil || f.namespaces[t.Namespace]) && f.selector.Matches(labels.Set(t.Labels))
}

// OfVolumes reports whether volumes are counted rather than pods.
func (g *Group) OfVolumes() bool { return g.volumes }

// Matches reports whether the pods of a template belong to the group.
func (g *Group) Matches(t *cluster.Template) bool {
	if g.volumes {
		return false
	}
	if g.pods != nil {
		return g.pods(t)
	}
	for _, f := range g.finders {
		if !f.finds(t) {
			return false
		}
	}
	return true
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
	if g.tolerations != nil {
		_, bad := match.Untolerated(n.Taints, g.tolerations, false)
		return !bad
	}
	return true
}

// Groups registers every group once.
type Groups struct {
	List       []*Group
	byKey      map[string]int
	namespaces []cluster.Namespace
	index      index
	Movers     []Mover // all of them, before rules are read
}

// NewGroups returns no groups, of pods in the namespaces.
func NewGroups(namespaces []cluster.Namespace) *Groups {
	return &Groups{byKey: map[string]int{}, namespaces: namespaces}
}

func (gs *Groups) add(identity string, g *Group) int {
	identity = g.Key + "\x00" + identity
	id, ok := gs.byKey[identity]
	if !ok {
		id = len(gs.List)
		gs.byKey[identity] = id
		g.Tally = newTally()
		gs.List = append(gs.List, g)
	}
	return id
}

// found is what a pod affinity term finds, or several together.
type found struct {
	finders  []finder
	identity string
}

// addTerm registers the group of the pods that are found over a topology key.
func (gs *Groups) addTerm(key string, pods found) int {
	return gs.add(pods.identity, &Group{Key: api.NormalizeLabel(key), finders: pods.finders})
}

func (gs *Groups) finderOf(t *cluster.Template, term *corev1.PodAffinityTerm) (finder, error) {
	selector, err := selectorFor(term.LabelSelector, t.Labels, term.MatchLabelKeys, term.MismatchLabelKeys)
	if err != nil {
		return finder{}, err
	}
	namespaces, err := gs.namespacesOf(t, term)
	return finder{selector, namespaces}, err
}

func (gs *Groups) namespacesOf(t *cluster.Template, term *corev1.PodAffinityTerm) (map[string]bool, error) {
	if term.NamespaceSelector == nil {
		if len(term.Namespaces) == 0 {
			return map[string]bool{t.Namespace: true}, nil
		}
		return setOf(term.Namespaces), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("namespace selector: %w", err)
	}
	if selector.Empty() {
		return nil, nil
	}
	out := setOf(term.Namespaces)
	for _, n := range gs.namespaces {
		if selector.Matches(labels.Set(n.Labels)) {
			out[n.Name] = true
		}
	}
	return out, nil
}

// selectorFor resolves a selector with its matchLabelKeys for the pod's labels.
// No selector at all matches nothing.
func selectorFor(s *metav1.LabelSelector, own map[string]string, match, mismatch []string) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil || s == nil {
		return selector, err
	}
	same := &metav1.LabelSelector{}
	for _, key := range match {
		if value, ok := own[key]; ok {
			same.MatchExpressions = append(same.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
		}
	}
	for _, key := range mismatch {
		if value, ok := own[key]; ok {
			same.MatchExpressions = append(same.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}})
		}
	}
	if len(same.MatchExpressions) == 0 {
		return selector, nil
	}
	more, err := metav1.LabelSelectorAsSelector(same)
	if err != nil {
		return nil, err
	}
	requirements, _ := more.Requirements()
	return selector.Add(requirements...), nil
}

// String identifies what the finder finds.
func (f finder) String() string {
	namespaces, pods := "*", f.selector.String()
	if f.namespaces != nil {
		namespaces = strings.Join(slices.Sorted(maps.Keys(f.namespaces)), ",")
	}
	if _, selectable := f.selector.Requirements(); !selectable {
		pods = "\x00" // A selector of no pods and one of all pods are both written as "".
	}
	return namespaces + "\x00" + pods
}

func setOf(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// Spread reports whether a topology spread counts the group.
func (g *Group) Spread() bool { return g.spread }
