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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// home is a node or planned machine with everything that will run there.
type home struct {
	name    string
	labels  map[string]string
	taints  []corev1.Taint
	room    amount.List
	limits  map[string]int64
	leaving bool
	pods    []*cluster.Template // also those that run there already
	placed  []*cluster.Template // those that the plan puts there
	daemons []*cluster.Template
}

// verify checks a plan against its input from scratch, with the scheduler's own
// helpers where there are some and none of the code that made the plan.
func verify(t reporter, in *Input, p *Plan) {
	t.Helper()
	promised := *in
	in = &promised
	in.Snapshot = Promised(in.Snapshot, in.Provisioners, in.Now, in.Settings.StartupTimeout) // see promise_test.go
	if p.LowerBound > p.HourlyPrice {
		t.Errorf("the lower bound %d is above the price %d", p.LowerBound, p.HourlyPrice)
	}
	verifyAccount(t, in, p)
	homes := homesOf(t, in, p)
	for _, h := range homes {
		verifyHome(t, h)
	}
	verifyNodeSpreads(t, homes)
	verifyTopology(t, homes)
	verifyLimits(t, in, p)
	verifyVariety(t, in, p)
	verifyReservations(t, in, p)
}

// verifyVariety: the candidates of a machine that one request asks for have as many values
// of each label as its Provisioner's minValues demand, and so have those that are needed.
func verifyVariety(t reporter, in *Input, p *Plan) {
	t.Helper()
	for i := range p.Machines {
		m := &p.Machines[i]
		k := slices.IndexFunc(in.Provisioners, func(pr Provisioner) bool { return pr.Spec.Name == m.Provisioner })
		asked := slices.DeleteFunc(slices.Clone(m.Candidates), func(c offer.Candidate) bool { return c.CapacityType != m.Chosen().CapacityType })
		for _, r := range in.Provisioners[k].Spec.Spec.Requirements {
			if r.MinValues == nil || m.Chosen().Reservation != "" { // what is reserved is there
				continue
			}
			for what, list := range map[string][]offer.Candidate{"asked for": asked, "needed": m.Needed} {
				values := map[string]bool{}
				for _, c := range list {
					at := slices.IndexFunc(in.Provisioners[k].Types, func(t offer.InstanceType) bool { return t.Name == c.InstanceType })
					of := &in.Provisioners[k].Types[at]
					for _, v := range of.Labels[r.Key] {
						values[v] = true
					}
					for _, o := range of.Offerings {
						values[map[string]string{api.LabelZone: o.Zone, api.LabelCapacityType: o.CapacityType}[r.Key]] = true
					}
				}
				delete(values, "")
				if len(values) < int(*r.MinValues) {
					t.Errorf("machine %s: %d values of %s are %s, want %d", m.Name, len(values), r.Key, what, *r.MinValues)
				}
			}
		}
		for _, c := range m.Needed {
			if !slices.Contains(asked, c) {
				t.Errorf("machine %s: %v is needed and not asked for", m.Name, c)
			}
		}
	}
}

// verifyAccount: each pending pod has exactly one fate.
func verifyAccount(t reporter, in *Input, p *Plan) {
	t.Helper()
	fate := map[cluster.PodKey]int{}
	for _, b := range p.Bindings {
		if b.From == "" {
			fate[b.Pod]++
		}
	}
	for i := range p.Machines {
		if len(p.Machines[i].Pods)+len(p.Machines[i].Moving) == 0 {
			t.Errorf("machine %s is for no pod", p.Machines[i].Name)
		}
		for _, pod := range p.Machines[i].Pods {
			fate[pod]++
		}
	}
	for _, u := range p.Unplaced {
		if u.Reason == "" {
			t.Errorf("pod %s has no place and no reason", u.Pod)
		}
		if u.From == "" {
			fate[u.Pod]++
		}
	}
	for i := range in.Snapshot.Pods {
		pod := &in.Snapshot.Pods[i]
		want := 0
		if pod.State == cluster.PodPending {
			want = 1
		}
		if fate[pod.PodKey] != want {
			t.Errorf("pod %s has %d fates, want %d", pod, fate[pod.PodKey], want)
		}
	}
}

func homesOf(t reporter, in *Input, p *Plan) []*home {
	t.Helper()
	pods := map[cluster.PodKey]*cluster.Pod{}
	nodes := map[string]*home{}
	var out []*home
	for i := range in.Snapshot.Nodes {
		n := &in.Snapshot.Nodes[i]
		nodes[n.Name] = &home{name: n.Name, labels: n.Labels, taints: lasting(in, n), room: n.Allocatable, limits: n.VolumeLimits, leaving: leaving(n)}
		out = append(out, nodes[n.Name])
	}
	moved := map[cluster.PodKey]bool{}
	for _, b := range p.Bindings {
		moved[b.Pod] = true
	}
	for i := range p.Machines {
		for _, m := range p.Machines[i].Moving {
			moved[m.Pod] = true
		}
	}
	for _, u := range p.Unplaced {
		moved[u.Pod] = true // its node goes, and it with the node
	}
	for i := range in.Snapshot.Pods {
		pod := &in.Snapshot.Pods[i]
		pods[pod.PodKey] = pod
		if h := nodes[pod.NodeName]; h != nil && !moved[pod.PodKey] && pod.State == cluster.PodBound {
			h.pods = append(h.pods, pod.Template)
		}
	}
	for _, b := range p.Bindings {
		nodes[b.Node].pods = append(nodes[b.Node].pods, pods[b.Pod].Template)
		nodes[b.Node].placed = append(nodes[b.Node].placed, pods[b.Pod].Template)
	}
	for i := range p.Machines {
		for k := range p.Machines[i].Candidates {
			h := machineHome(t, in, &p.Machines[i], p.Machines[i].Candidates[k])
			for _, pod := range p.Machines[i].Pods {
				h.pods = append(h.pods, pods[pod].Template)
			}
			for _, m := range p.Machines[i].Moving {
				h.pods = append(h.pods, pods[m.Pod].Template)
			}
			h.placed = h.pods
			if k == 0 {
				out = append(out, h)
			} else {
				verifyHome(t, h) // the others must do as well
				if zoneMatters(h.pods) && h.labels[api.LabelZone] != p.Machines[i].Chosen().Zone {
					t.Errorf("machine %s may be bought in another zone than planned", h.name)
				}
			}
		}
	}
	return out
}

func zoneMatters(pods []*cluster.Template) bool { return len(spreadOver(pods, api.LabelZone)) > 0 }

// spreadOver returns the pods that are spread over a key themselves. Others may come
// after them, where a spread does not keep them away.
func spreadOver(pods []*cluster.Template, key string) []*cluster.Template {
	return slices.DeleteFunc(slices.Clone(pods), func(p *cluster.Template) bool {
		return !slices.ContainsFunc(p.Spread, func(s corev1.TopologySpreadConstraint) bool {
			return s.TopologyKey == key && s.WhenUnsatisfiable == corev1.DoNotSchedule
		})
	})
}

func lasting(in *Input, n *cluster.Node) []corev1.Taint {
	var of *api.Provisioner
	for _, p := range in.Provisioners {
		if p.Spec.Name == n.Provisioner {
			of = p.Spec
		}
	}
	return match.Lasting(n, of)
}

func machineHome(t reporter, in *Input, m *Machine, c offer.Candidate) *home {
	t.Helper()
	h := &home{name: m.Name + " as " + c.InstanceType, labels: map[string]string{}, taints: m.Taints}
	for _, p := range in.Provisioners {
		if p.Spec.Name != m.Provisioner {
			continue
		}
		for i := range p.Types {
			typ := &p.Types[i]
			if typ.Name != c.InstanceType {
				continue
			}
			h.room = typ.Allocatable()
			for key, values := range typ.Labels {
				h.labels[key] = values[0]
				if chosen, ok := m.Labels[key]; ok && !slices.Contains(values, chosen) {
					t.Errorf("%s cannot have the label %s=%s", h.name, key, chosen)
				}
			}
		}
	}
	if h.room == nil {
		t.Fatalf("machine %s: no type %s", m.Name, c.InstanceType)
	}
	maps.Copy(h.labels, m.Labels)
	h.labels[api.LabelZone], h.labels[api.LabelCapacityType], h.labels[api.LabelHostname] = c.Zone, c.CapacityType, m.Name
	if c.Reservation != "" {
		h.labels[api.LabelReservationID], h.labels[api.LabelReservationType] = c.Reservation, "default"
	}
	for i := range in.Snapshot.DaemonSets {
		if d := in.Snapshot.DaemonSets[i].Template; admitted(d, h) && (d.Requests.Fits(h.room) || fitsElsewhere(in, m, d)) {
			h.daemons = append(h.daemons, d)
		}
	}
	return h
}

// fitsElsewhere reports whether a DaemonSet's pod may run, and fits alone, on any other machine of the
// same Provisioner.
func fitsElsewhere(in *Input, m *Machine, d *cluster.Template) bool {
	i := slices.IndexFunc(in.Provisioners, func(p Provisioner) bool { return p.Spec.Name == m.Provisioner })
	p := &in.Provisioners[i]
	term := corev1.NodeSelectorTerm{}
	for _, r := range p.Spec.EffectiveRequirements() {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values})
	}
	sells, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	return slices.ContainsFunc(p.Types, func(typ offer.InstanceType) bool {
		return d.Requests.Fits(typ.Allocatable()) && slices.ContainsFunc(typ.Offerings, func(o offer.Offering) bool {
			h := &home{labels: maps.Clone(m.Labels), taints: m.Taints}
			for key, values := range typ.Labels {
				h.labels[key] = values[0]
			}
			h.labels[api.LabelZone], h.labels[api.LabelCapacityType] = o.Zone, o.CapacityType
			ours := err == nil && (len(term.MatchExpressions) == 0 || sells.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: h.labels}}))
			return ours && admitted(d, h)
		})
	})
}

// admitted asks the scheduler's own code about labels, and our rule about taints.
func admitted(t *cluster.Template, h *home) bool {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.name, Labels: maps.Clone(h.labels)}}
	for _, key := range []string{
		"beta.kubernetes.io/instance-type", "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region", "topology.ebs.csi.aws.com/zone",
	} {
		node.Labels[key] = h.labels[api.NormalizeLabel(key)]
	}
	if h.labels[api.LabelProvisioner] != "" && h.labels[api.LabelInitialized] == "" {
		node.Labels[api.LabelInitialized] = "true" // once it is up
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: t.NodeSelector, Affinity: t.Affinity}}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil || !ok {
		return false
	}
	for i := range h.taints {
		if h.taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(t.Tolerations, func(tol corev1.Toleration) bool { return cluster.Tolerates(&tol, &h.taints[i]) }) {
			return false
		}
	}
	return true
}

func verifyHome(t reporter, h *home) {
	t.Helper()
	var used amount.List
	ports := map[cluster.HostPort]int{}
	for _, p := range slices.Concat(h.pods, h.daemons) {
		used = used.Plus(p.Requests)
		for _, port := range p.HostPorts {
			ports[port]++
		}
	}
	if len(h.placed) > 0 && !used.Fits(h.room) {
		t.Errorf("%s is over capacity: %v of %v", h.name, used, h.room)
	}
	for _, p := range h.placed {
		if !admitted(p, h) {
			t.Errorf("%s with labels %v does not admit a pod with selector %v and affinity %v", h.name, h.labels, p.NodeSelector, p.Affinity)
		}
		for _, port := range p.HostPorts {
			if ports[port] > 1 {
				t.Errorf("%s has host port %v twice", h.name, port)
			}
		}
		for _, term := range antiTerms(p) {
			if term.TopologyKey == api.LabelHostname && h.labels[api.LabelHostname] != "" && met(h.pods, p, &term) > met([]*cluster.Template{p}, p, &term) {
				t.Errorf("%s has pods that repel each other", h.name)
			}
		}
	}
}

// verifyNodeSpreads: of the pods that are spread over host names no node has many more than
// another one that counts.
func verifyNodeSpreads(t reporter, homes []*home) {
	t.Helper()
	for _, h := range homes {
		for _, p := range h.placed {
			for i := range p.Spread {
				s := &p.Spread[i]
				if s.TopologyKey != api.LabelHostname || s.WhenUnsatisfiable != corev1.DoNotSchedule || findsAll(s) {
					continue
				}
				here := found(spreadOver(h.pods, s.TopologyKey), p, s.LabelSelector)
				least := here
				for _, other := range homes {
					if nodeCounts(p, s, other) {
						least = min(least, found(spreadOver(other.pods, s.TopologyKey), p, s.LabelSelector))
					}
				}
				if here-least > int(s.MaxSkew) {
					t.Errorf("%s has a skew of %d, more than %d", h.name, here-least, s.MaxSkew)
				}
			}
		}
	}
}

// nodeCounts reports whether a spread of a pod counts a node, by its policies.
func nodeCounts(p *cluster.Template, s *corev1.TopologySpreadConstraint, h *home) bool {
	if h.leaving || h.labels[s.TopologyKey] == "" {
		return false
	}
	asks, as := *p, *h
	if s.NodeAffinityPolicy != nil && *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore {
		asks.NodeSelector, asks.Affinity = nil, nil
	}
	if s.NodeTaintsPolicy == nil || *s.NodeTaintsPolicy == corev1.NodeInclusionPolicyIgnore {
		as.taints = nil
	}
	return admitted(&asks, &as)
}

// findsAll reports whether a spread has the empty selector, for which the scheduler
// counts nothing.
func findsAll(s *corev1.TopologySpreadConstraint) bool {
	return s.LabelSelector != nil && len(s.LabelSelector.MatchLabels)+len(s.LabelSelector.MatchExpressions)+len(s.MatchLabelKeys) == 0
}

func antiTerms(p *cluster.Template) []corev1.PodAffinityTerm {
	if p.Affinity == nil || p.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return p.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// met counts the pods that a term of a pod speaks of. Namespaces that a selector
// finds by their labels are left out, unless it finds all.
func met(pods []*cluster.Template, of *cluster.Template, term *corev1.PodAffinityTerm) int {
	s := term.LabelSelector.DeepCopy()
	for _, key := range term.MatchLabelKeys {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{of.Labels[key]}})
	}
	for _, key := range term.MismatchLabelKeys {
		s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{of.Labels[key]}})
	}
	selector, _ := metav1.LabelSelectorAsSelector(s)
	all := term.NamespaceSelector != nil && len(term.NamespaceSelector.MatchLabels)+len(term.NamespaceSelector.MatchExpressions) == 0
	own := term.NamespaceSelector == nil && len(term.Namespaces) == 0
	n := 0
	for _, p := range pods {
		inside := all || own && p.Namespace == of.Namespace || slices.Contains(term.Namespaces, p.Namespace)
		if inside && selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

func found(pods []*cluster.Template, of *cluster.Template, s *metav1.LabelSelector) int {
	selector, _ := metav1.LabelSelectorAsSelector(s)
	n := 0
	for _, p := range pods {
		if p.Namespace == of.Namespace && selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

func self(p *cluster.Template, s *metav1.LabelSelector) int {
	return found([]*cluster.Template{p}, p, s)
}

// verifyTopology checks anti-affinity and spreads over zones. The fewest pods of
// a spread are counted over the zones that have pods only: fewer cannot be.
func verifyTopology(t reporter, homes []*home) {
	t.Helper()
	zones := podsByZone(homes, &cluster.Template{})
	for _, h := range homes {
		in := zones[h.labels[api.LabelZone]]
		for _, p := range h.placed {
			for _, term := range antiTerms(p) {
				if term.TopologyKey == api.LabelZone && met(in, p, &term) > met([]*cluster.Template{p}, p, &term) {
					t.Errorf("zone %s has pods that repel each other", h.labels[api.LabelZone])
				}
			}
			if p.Affinity != nil || len(p.NodeSelector) > 0 {
				continue // not all zones count for them
			}
			for i := range p.Spread {
				s := &p.Spread[i]
				if s.TopologyKey != api.LabelZone || s.WhenUnsatisfiable != corev1.DoNotSchedule || s.NodeTaintsPolicy != nil || findsAll(s) || !allSpread(homes, p, s.LabelSelector) {
					continue
				}
				least := found(in, p, s.LabelSelector)
				zones := podsByZone(homes, p)
				in := zones[h.labels[api.LabelZone]]
				for zone, pods := range zones {
					if zone != "" {
						least = min(least, found(pods, p, s.LabelSelector))
					}
				}
				if skew := found(in, p, s.LabelSelector) - least; skew > int(s.MaxSkew) {
					t.Errorf("zone %s has a skew of %d, more than %d", h.labels[api.LabelZone], skew, s.MaxSkew)
				}
			}
		}
	}
}

// podsByZone lists the pods of each zone on the nodes that stay and have the keys of
// all required spreads of a pod.
func podsByZone(homes []*home, of *cluster.Template) map[string][]*cluster.Template {
	out := map[string][]*cluster.Template{}
	for _, h := range homes {
		lacks := func(s corev1.TopologySpreadConstraint) bool {
			_, ok := h.labels[s.TopologyKey]
			return !ok && s.WhenUnsatisfiable == corev1.DoNotSchedule
		}
		if !h.leaving && !slices.ContainsFunc(of.Spread, lacks) {
			out[h.labels[api.LabelZone]] = append(out[h.labels[api.LabelZone]], h.pods...)
		}
	}
	return out
}

// allSpread reports whether every pod that a spread counts is spread itself: the
// others may come after the pods that are, and make it uneven.
func allSpread(homes []*home, of *cluster.Template, s *metav1.LabelSelector) bool {
	for _, h := range homes {
		for _, p := range slices.Concat(h.pods, h.daemons) {
			if found([]*cluster.Template{p}, of, s) > 0 && !zoneMatters([]*cluster.Template{p}) {
				return false
			}
		}
	}
	return self(of, s) > 0
}

// verifyReservations: no more machines are bought from a capacity reservation, by all
// Provisioners together, than are left of it. Each is bought from it or not at all.
func verifyReservations(t reporter, in *Input, p *Plan) {
	t.Helper()
	left := map[string]int64{}
	for _, pr := range in.Provisioners {
		for i := range pr.Types {
			for _, o := range pr.Types[i].Offerings {
				left[o.Reservation] = o.Left
			}
		}
	}
	for i := range p.Machines {
		m := &p.Machines[i]
		id := m.Chosen().Reservation
		if id == "" {
			continue
		}
		if left[id]--; left[id] < 0 || len(m.Candidates) != 1 || len(m.Needed) > 1 {
			t.Errorf("machine %s: %d are left of %s, candidates %v, needed %v", m.Name, left[id], id, m.Candidates, m.Needed)
		}
	}
}

// verifyLimits: whichever candidates are bought, no limit is exceeded by them.
func verifyLimits(t reporter, in *Input, p *Plan) {
	t.Helper()
	for _, pr := range in.Provisioners {
		if pr.Spec.Spec.Limits == nil {
			continue
		}
		var used amount.List
		for i := range in.Snapshot.Nodes {
			if n := &in.Snapshot.Nodes[i]; n.Provisioner == pr.Spec.Name {
				used = used.Plus(n.Capacity.OfNode())
			}
		}
		before, machines := used, 0
		for i := range p.Machines {
			if p.Machines[i].Provisioner != pr.Spec.Name {
				continue
			}
			machines++
			var most amount.List
			for _, c := range p.Machines[i].Candidates {
				k := slices.IndexFunc(pr.Types, func(t offer.InstanceType) bool { return t.Name == c.InstanceType })
				most = most.Max(pr.Types[k].Capacity)
			}
			used = used.Plus(most.OfNode())
		}
		for name, limit := range amount.FromResourceList(pr.Spec.Spec.Limits.Resources) {
			if machines > 0 && used[name] > limit && used[name] > before[name] {
				t.Errorf("provisioner %s has %d of %s, more than its limit of %d", pr.Spec.Name, used[name], name, limit)
			}
		}
	}
}
