package pack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// group is a set of pods that a constraint counts by topology domain: those that
// all its finders find, or those that take a host port.
type group struct {
	key     string // topology key
	finders []finder
	port    *cluster.HostPort
	volumes bool // it counts attached volumes rather than pods, see attach.go
	spread  bool // a topology spread counts it
	// Only nodes that match one of these count, for topology spread.
	nodes       []match.Requirements
	tolerations []corev1.Toleration // nil unless taints keep nodes from counting
	// labelled are further keys that nodes need to count: a pod with several spreads
	// counts only nodes that have the keys of all.
	labelled []string

	tally
}

// tally is what a group counts.
type tally struct {
	// By domain, for keys other than the host name: the pods of the group, and
	// the pods elsewhere that must not share a domain with one.
	count map[string]int64
	repel map[string]int64
	total int64 // pods of the group in all domains
}

func newTally() tally { return tally{count: map[string]int64{}, repel: map[string]int64{}} }

func (t tally) clone() tally {
	return tally{count: maps.Clone(t.count), repel: maps.Clone(t.repel), total: t.total}
}

// finder finds pods by their labels in some namespaces.
type finder struct {
	selector   labels.Selector
	namespaces map[string]bool // nil: all
}

func (f finder) finds(t *cluster.Template) bool {
	return (f.namespaces == nil || f.namespaces[t.Namespace]) && f.selector.Matches(labels.Set(t.Labels))
}

// unbounded is the cap of a constraint that is not there.
const unbounded = math.MaxInt64 / 4

// touch is what a class has to do with a group counted by node.
type touch struct {
	group int
	self  int64 // 1 if the class's pods belong to the group
	cap   int64 // pods of the group that a pod of the class stands on its node
	entry int64 // pods of the group, with itself, among which a pod of the class may come
	// driver is 1 + the group of a driver's attachments, where the group is about one
	// volume that several pods share: the first of them on a node attaches it.
	driver int
}

// addTouch adds a touch to a list that has each group once, in order.
func addTouch(list []touch, t touch) []touch {
	i, found := slices.BinarySearchFunc(list, t.group, func(have touch, group int) int { return cmp.Compare(have.group, group) })
	if !found {
		return slices.Insert(list, i, t)
	}
	have := &list[i]
	have.self, have.cap, have.entry = max(have.self, t.self), min(have.cap, t.cap), min(have.entry, t.entry)
	return list
}

// spread is a topology spread constraint over a key other than the host name.
type spread struct {
	group      int
	self       int64
	maxSkew    int64
	minDomains int
	drop       int      // index in class.drops, -1 when required
	domains    []string // filled on first use
}

// hostSpread is a topology spread constraint over the host name. How far it goes
// is one of the class's touches.
type hostSpread struct {
	group int
	// relative: it is about the node with the fewest pods, and not about none.
	relative bool
	least    int64 // pods that every node has, when it was looked at last
}

// bond is a pod affinity or anti-affinity over a key other than the host name.
type bond struct {
	group int
	self  bool
	drop  int
}

// matches reports whether the pods of a template belong to the group.
func (g *group) matches(t *cluster.Template) bool {
	if g.volumes {
		return false
	}
	if g.port != nil {
		return slices.ContainsFunc(t.HostPorts, func(p cluster.HostPort) bool { return conflict(p, *g.port) })
	}
	for _, f := range g.finders {
		if !f.finds(t) {
			return false
		}
	}
	return true
}

func conflict(a, b cluster.HostPort) bool {
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || anyAddress(a.IP) || anyAddress(b.IP))
}

func anyAddress(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }

// selective reports whether some nodes with the group's key may not count.
func (g *group) selective() bool {
	return len(g.labelled) > 0 || g.nodes != nil || g.tolerations != nil
}

// counts reports whether pods on a node count, by the group's node policies.
func (g *group) counts(n *model.Node) bool {
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

// countsPlan reports whether pods on a machine that will meet the requirements, in
// the given domains, count.
func (g *group) countsPlan(requires match.Requirements, at *spot) bool {
	for _, key := range g.labelled {
		if _, ok := at.value(key); !ok && key != corev1.LabelHostname {
			return false
		}
	}
	return g.nodes == nil || slices.ContainsFunc(g.nodes, func(r match.Requirements) bool {
		_, bad := r.And(requires).Unmeetable()
		return !bad
	})
}

// groups registers every group once.
type groups struct {
	list       []*group
	byKey      map[string]int
	namespaces []cluster.Namespace
	index      index
}

func newGroups(namespaces []cluster.Namespace) *groups {
	return &groups{byKey: map[string]int{}, namespaces: namespaces}
}

func (gs *groups) add(identity string, g *group) int {
	identity = g.key + "\x00" + identity
	id, ok := gs.byKey[identity]
	if !ok {
		id = len(gs.list)
		gs.byKey[identity] = id
		g.tally = newTally()
		gs.list = append(gs.list, g)
	}
	return id
}

func (gs *groups) addPort(p cluster.HostPort) int {
	return gs.add(fmt.Sprintf("port %s %s %d", p.IP, p.Protocol, p.Port), &group{key: corev1.LabelHostname, port: &p})
}

// found is what a pod affinity term finds, or several together.
type found struct {
	finders  []finder
	identity string
}

// foundBy returns the pods that all of the terms find.
func (gs *groups) foundBy(t *cluster.Template, terms ...model.PodTerm) (found, error) {
	out, known := found{}, map[string]bool{}
	for _, term := range terms {
		f, err := gs.finderOf(t, term.PodAffinityTerm)
		if err != nil {
			return found{}, fmt.Errorf("pod affinity over %s: %w", term.TopologyKey, err)
		}
		if text := f.String(); !known[text] {
			known[text] = true
			out.finders = append(out.finders, f)
		}
	}
	out.identity = strings.Join(model.SortedKeys(known), "\x01")
	return out, nil
}

// addTerm registers the group of the pods that are found over a topology key.
func (gs *groups) addTerm(key string, pods found) int {
	return gs.add(pods.identity, &group{key: key, finders: pods.finders})
}

func (gs *groups) finderOf(t *cluster.Template, term *corev1.PodAffinityTerm) (finder, error) {
	selector, err := selectorFor(term.LabelSelector, t.Labels, term.MatchLabelKeys, term.MismatchLabelKeys)
	if err != nil {
		return finder{}, err
	}
	namespaces, err := gs.namespacesOf(t, term)
	return finder{selector, namespaces}, err
}

func (gs *groups) namespacesOf(t *cluster.Template, term *corev1.PodAffinityTerm) (map[string]bool, error) {
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

// addSpread registers the group that a topology spread constraint counts.
func (gs *groups) addSpread(t *cluster.Template, c *corev1.TopologySpreadConstraint, places []match.Requirements) (int, error) {
	selector, err := selectorFor(c.LabelSelector, t.Labels, c.MatchLabelKeys, nil)
	if err != nil {
		return 0, fmt.Errorf("topology spread over %s: %w", c.TopologyKey, err)
	}
	if selector.Empty() {
		selector = labels.Nothing() // kube-scheduler counts no pods for it, rather than all
	}
	f := finder{selector, map[string]bool{t.Namespace: true}}
	g := &group{key: c.TopologyKey, finders: []finder{f}, labelled: furtherKeys(t, c)}
	identity := []string{f.String(), strings.Join(g.labelled, ",")}
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		g.nodes = withoutVolumes(t, places)
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

// furtherKeys lists the keys of the pod's other required spreads.
func furtherKeys(t *cluster.Template, c *corev1.TopologySpreadConstraint) []string {
	var out []string
	for i := range t.Spread {
		if s := &t.Spread[i]; s.WhenUnsatisfiable != corev1.ScheduleAnyway && s.TopologyKey != c.TopologyKey {
			out = append(out, s.TopologyKey)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutVolumes returns the requirements of the pod's own node selector and
// affinity, or nil where it has none.
func withoutVolumes(t *cluster.Template, places []match.Requirements) []match.Requirements {
	if len(t.NodeSelector) == 0 && (t.Affinity == nil || t.Affinity.NodeAffinity == nil || t.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil) {
		return nil
	}
	if len(t.Claims) == 0 {
		return places
	}
	own, miss := match.Places(t, []match.Requirements{nil})
	if miss.Missed() {
		return places
	}
	return own
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
	if f.namespaces == nil {
		return "*\x00" + f.selector.String()
	}
	return strings.Join(slices.Sorted(maps.Keys(f.namespaces)), ",") + "\x00" + f.selector.String()
}

func setOf(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}
