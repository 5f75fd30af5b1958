package decide

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// oracle knows the best plan for a small problem, because it tries them all: every
// choice of machines, and on these every order in which pods may come to every place
// by the scheduler's rules. It shares no code with what makes plans.
type oracle struct {
	in    *Input
	nodes []*host
	kinds []*host
	pods  []*cluster.Template
	known map[question]bool // whether labels and taints let a pod in
	// inTurn: important pods come before others, as they do in the scheduler's queue.
	inTurn bool
	// During one trial:
	hosts []*host
	at    []int8 // host of each pod, -1 for none
	seen  map[string]bool
	best  int
}

// question is whether hosts that are alike let a pod in.
type question struct {
	pod    *cluster.Template
	like   int
	taints bool // look at these too
}

// host is a node, or a machine of one kind.
type host struct {
	home
	like        int // hosts with equal labels and taints have the same number
	capacity    amount.List
	provisioner string
	price       offer.Price
	used        amount.List
}

// newOracle looks at the pending pods that the filter lets pass.
func newOracle(t reporter, in *Input, which func(*cluster.Pod) bool) *oracle {
	o := &oracle{in: in, known: map[question]bool{}}
	for i := range in.Snapshot.Nodes {
		n := &in.Snapshot.Nodes[i]
		h := &host{home: home{name: n.Name, labels: n.Labels, taints: lasting(in, n), room: n.Allocatable}, capacity: n.Capacity, provisioner: n.Provisioner}
		running := map[string]bool{}
		for k := range in.Snapshot.Pods {
			if p := &in.Snapshot.Pods[k]; p.NodeName == n.Name {
				h.take(p.Template, 1)
				running[p.Owner.Name] = true
			}
		}
		for k := range in.Snapshot.DaemonSets {
			if d := &in.Snapshot.DaemonSets[k]; !running[d.Name] && admitted(d.Template, &h.home) && d.Template.Requests.Fits(h.room) {
				h.take(d.Template, 1)
			}
		}
		o.nodes = append(o.nodes, h)
	}
	for i := range in.Provisioners {
		o.kinds = append(o.kinds, o.kindsOf(t, &in.Provisioners[i])...)
	}
	for i, h := range slices.Concat(o.nodes, o.kinds) {
		h.like = i
	}
	for i := range in.Snapshot.Pods {
		if p := &in.Snapshot.Pods[i]; p.State == cluster.PodPending && which(p) {
			o.pods = append(o.pods, p.Template)
		}
	}
	return o
}

// kindsOf lists what a Provisioner may buy, with the pods of DaemonSets.
func (o *oracle) kindsOf(t reporter, p *Provisioner) []*host {
	var term corev1.NodeSelectorTerm
	for _, r := range p.Spec.EffectiveRequirements() {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values})
	}
	allowed, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	if err != nil {
		t.Fatalf("%v", err)
	}
	var out []*host
	for i := range p.Types {
		for k := range p.Types[i].Offerings {
			sold := &p.Types[i].Offerings[k]
			m := Machine{Provisioner: p.Spec.Name, Taints: p.Spec.Spec.Taints, Labels: map[string]string{api.LabelProvisioner: p.Spec.Name}}
			maps.Copy(m.Labels, p.Spec.Spec.Labels)
			h := &host{home: *machineHome(t, o.in, &m, offer.Candidate{InstanceType: p.Types[i].Name, Zone: sold.Zone, CapacityType: sold.CapacityType})}
			delete(h.labels, api.LabelHostname)
			if !allowed.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: h.labels}}) {
				continue
			}
			h.capacity, h.provisioner, h.price = p.Types[i].Capacity, p.Spec.Name, sold.Price
			for _, d := range h.daemons {
				h.take(d, 1)
			}
			out = append(out, h)
		}
	}
	return out
}

func (h *host) take(p *cluster.Template, n int) {
	if n > 0 {
		h.pods = append(h.pods, p)
		h.used = h.used.Plus(p.Requests)
		return
	}
	h.pods = slices.Delete(slices.Clone(h.pods), len(h.pods)-1, len(h.pods))
	left := amount.List{}
	for name, v := range h.used {
		left[name] = v - p.Requests[name]
	}
	h.used = left
}

// most returns the highest value of pods that any choice of machines can take, by
// importance and then number, and the least price at which that is so.
func (o *oracle) most() (value int, price offer.Price) {
	value, price = -1, 0
	all := 0
	for _, p := range o.pods {
		all += worthOf(p)
	}
	o.choices(0, nil, func(machines []int) {
		cost := offer.Price(0)
		for _, k := range machines {
			cost += o.kinds[k].price
		}
		if value == all && cost >= price || !o.withinLimits(machines) {
			return
		}
		if got := o.try(machines); got > value || got == value && cost < price {
			value, price = got, cost
		}
	})
	return value, price
}

// further names a pod without a place that there is room for besides the plan: on its
// hosts, or on one more machine.
func (o *oracle) further(plan *Plan) string {
	hosts := map[string]*host{}
	home := map[string]string{}
	var machines []int
	o.hosts = nil
	for _, n := range o.nodes {
		hosts[n.name] = n.copied()
		o.hosts = append(o.hosts, hosts[n.name])
	}
	for i := range plan.Machines {
		m := &plan.Machines[i]
		k := slices.IndexFunc(o.kinds, func(h *host) bool {
			return h.provisioner == m.Provisioner && h.labels[api.LabelInstanceType] == m.Chosen().InstanceType && h.labels[api.LabelZone] == m.Chosen().Zone
		})
		machines = append(machines, k)
		hosts[m.Name] = o.kinds[k].copied()
		o.hosts = append(o.hosts, hosts[m.Name])
		for _, pod := range m.Pods {
			home[pod.String()] = m.Name
		}
	}
	for _, b := range plan.Bindings {
		home[b.Pod.String()] = b.Node
	}
	var without []*cluster.Pod
	for i := range o.in.Snapshot.Pods {
		p := &o.in.Snapshot.Pods[i]
		if name := home[p.String()]; name != "" {
			hosts[name].take(p.Template, 1)
		} else if p.State == cluster.PodPending {
			without = append(without, p)
		}
	}
	for _, p := range without {
		if slices.ContainsFunc(o.hosts, func(h *host) bool { return o.accepts(p.Template, h) }) {
			return p.String()
		}
		for k := range o.kinds {
			if !o.withinLimits(append(slices.Clip(machines), k)) {
				continue
			}
			more := o.kinds[k].copied()
			o.hosts = append(o.hosts, more)
			ok := o.accepts(p.Template, more)
			o.hosts = o.hosts[:len(o.hosts)-1]
			if ok {
				return p.String()
			}
		}
	}
	return ""
}

// worthOf makes one important pod count more than all others.
func worthOf(p *cluster.Template) int {
	if p.Priority > 0 {
		return 100
	}
	return 1
}

// choices calls yield with every list of kinds, in ascending order, of at most as many
// as there are pods.
func (o *oracle) choices(from int, chosen []int, yield func([]int)) {
	yield(chosen)
	if len(chosen) == len(o.pods) {
		return
	}
	for k := from; k < len(o.kinds); k++ {
		o.choices(k, append(slices.Clip(chosen), k), yield)
	}
}

func (o *oracle) withinLimits(machines []int) bool {
	for i := range o.in.Provisioners {
		p := o.in.Provisioners[i].Spec
		if p.Spec.Limits == nil {
			continue
		}
		var used amount.List
		bought := false
		for _, n := range o.nodes {
			if n.provisioner == p.Name {
				used = used.Plus(n.capacity.OfNode())
			}
		}
		for _, k := range machines {
			if o.kinds[k].provisioner == p.Name {
				used, bought = used.Plus(o.kinds[k].capacity.OfNode()), true
			}
		}
		for name, limit := range amount.FromResourceList(p.Spec.Limits.Resources) {
			if bought && used[name] > limit {
				return false
			}
		}
	}
	return true
}

// try returns the highest value of pods that the nodes and these machines take.
func (o *oracle) try(machines []int) int {
	o.hosts = nil
	for _, n := range o.nodes {
		o.hosts = append(o.hosts, n.copied())
	}
	for _, k := range machines {
		o.hosts = append(o.hosts, o.kinds[k].copied())
	}
	o.at, o.seen, o.best = make([]int8, len(o.pods)), map[string]bool{}, 0
	for i := range o.at {
		o.at[i] = -1
	}
	o.place(0)
	return o.best
}

func (h *host) copied() *host {
	out := *h
	out.pods = slices.Clone(h.pods)
	return &out
}

// place tries all ways to go on, each situation once. Machines without a pod are not
// for sale.
func (o *oracle) place(value int) {
	if !slices.ContainsFunc(o.hosts, func(h *host) bool { return h.price > 0 && len(h.pods) == len(h.daemons) }) {
		o.best = max(o.best, value)
	}
	situation := make([]byte, len(o.at))
	for i, h := range o.at {
		situation[i] = byte(h + 1)
	}
	if o.seen[string(situation)] {
		return
	}
	o.seen[string(situation)] = true
	for i, p := range o.pods {
		if o.at[i] >= 0 || i > 0 && o.pods[i-1] == p && o.at[i-1] < 0 {
			continue // of equal pods the first goes first
		}
		if o.inTurn && p.Priority > 0 && o.begun() {
			continue
		}
		for k, h := range o.hosts {
			if !o.accepts(p, h) {
				continue
			}
			h.take(p, 1)
			o.at[i] = int8(k)
			o.place(value + worthOf(p))
			o.at[i] = -1
			h.take(p, -1)
		}
	}
}

// begun reports whether a pod that is not important has a place already.
func (o *oracle) begun() bool {
	for i, p := range o.pods {
		if p.Priority == 0 && o.at[i] >= 0 {
			return true
		}
	}
	return false
}

// lets is admitted, asked once.
func (o *oracle) lets(p *cluster.Template, h *host, taints bool) bool {
	q := question{p, h.like, taints}
	answer, ok := o.known[q]
	if !ok {
		asked := h.home
		if !taints {
			asked.taints = nil
		}
		answer = admitted(p, &asked)
		o.known[q] = answer
	}
	return answer
}

func (o *oracle) accepts(p *cluster.Template, h *host) bool {
	if h.room == nil || !h.used.Plus(p.Requests).Fits(h.room) || !o.lets(p, h, true) || portTaken(p, h) {
		return false
	}
	for i := range p.Spread {
		if !o.even(p, &p.Spread[i], h) {
			return false
		}
	}
	return o.attracted(p, h) && !o.repelled(p, h)
}

func portTaken(p *cluster.Template, h *host) bool {
	return slices.ContainsFunc(p.HostPorts, func(port cluster.HostPort) bool {
		return slices.ContainsFunc(h.pods, func(other *cluster.Template) bool { return slices.Contains(other.HostPorts, port) })
	})
}

// domain returns what the host has as a topology key. Each host is a domain of host
// names of its own.
func (h *host) domain(key string) (any, bool) {
	if key == corev1.LabelHostname {
		return h, true
	}
	value, ok := h.labels[key]
	return value, ok
}

// even reports whether a spread allows another pod on the host. Kinds of machines that
// the pod may have are domains as well, and an empty node always is one.
func (o *oracle) even(p *cluster.Template, s *corev1.TopologySpreadConstraint, h *host) bool {
	here, ok := h.domain(s.TopologyKey)
	if !ok {
		return false
	}
	counts := map[any]int{}
	look := func(h *host, pods []*cluster.Template) {
		lacks := func(s corev1.TopologySpreadConstraint) bool { _, ok := h.domain(s.TopologyKey); return !ok }
		if domain, ok := h.domain(s.TopologyKey); ok && o.lets(p, h, false) && !slices.ContainsFunc(p.Spread, lacks) {
			counts[domain] += found(pods, p, s.LabelSelector)
		}
	}
	for _, other := range o.hosts {
		look(other, other.pods)
	}
	for _, kind := range o.kinds {
		if s.TopologyKey == corev1.LabelHostname {
			look(kind, kind.pods) // those of DaemonSets
		} else if o.lets(p, kind, true) {
			look(kind, nil)
		}
	}
	least := counts[here]
	for _, n := range counts {
		least = min(least, n)
	}
	if s.MinDomains != nil && len(counts) < int(*s.MinDomains) {
		least = 0
	}
	return counts[here]+self(p, s.LabelSelector)-least <= int(s.MaxSkew)
}

func affinityTerms(p *cluster.Template) []corev1.PodAffinityTerm {
	if p.Affinity == nil || p.Affinity.PodAffinity == nil {
		return nil
	}
	return p.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// attracted reports whether the pods that the pod has to be with are there, or it is
// the first of them.
func (o *oracle) attracted(p *cluster.Template, h *host) bool {
	terms := affinityTerms(p)
	near, anywhere := true, 0
	for _, term := range terms {
		here, ok := h.domain(term.TopologyKey)
		if !ok {
			return false
		}
		n := 0
		for _, other := range o.hosts {
			domain, ok := other.domain(term.TopologyKey)
			if !ok {
				continue
			}
			matching := finding(other.pods, p, terms)
			anywhere += matching
			if domain == here {
				n += matching
			}
		}
		near = near && n > 0
	}
	return near || anywhere == 0 && finding([]*cluster.Template{p}, p, terms) > 0
}

// finding counts the pods that all terms of a pod find.
func finding(pods []*cluster.Template, of *cluster.Template, terms []corev1.PodAffinityTerm) int {
	n := 0
	for _, p := range pods {
		if !slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return !finds(&t, of, p) }) {
			n++
		}
	}
	return n
}

func finds(term *corev1.PodAffinityTerm, of, p *cluster.Template) bool {
	selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
	return err == nil && p.Namespace == of.Namespace && selector.Matches(labels.Set(p.Labels))
}

// repelled reports whether a pod in one of the host's domains and the pod must not be
// together, whichever of them says so.
func (o *oracle) repelled(p *cluster.Template, h *host) bool {
	clash := func(by, other *cluster.Template, at *host) bool {
		for _, term := range antiTerms(by) {
			here, ok := h.domain(term.TopologyKey)
			there, also := at.domain(term.TopologyKey)
			if ok && also && here == there && finds(&term, by, other) {
				return true
			}
		}
		return false
	}
	for _, at := range o.hosts {
		for _, other := range at.pods {
			if clash(p, other, at) || clash(other, p, at) {
				return true
			}
		}
	}
	return false
}
