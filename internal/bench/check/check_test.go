package check

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// two is a type with room for two pods of a core, sold in three zones.
func two() offer.InstanceType {
	t := offer.InstanceType{
		Name:     "two",
		Labels:   map[string][]string{corev1.LabelInstanceTypeStable: {"two"}, corev1.LabelArchStable: {"amd64"}, corev1.LabelOSStable: {"linux"}},
		Capacity: amount.List{amount.CPU: 2100, amount.Memory: 8 << 30, amount.Pods: 10},
		Overhead: amount.List{amount.CPU: 100},
	}
	for _, zone := range []string{"a", "b", "c"} {
		t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: "on-demand", Price: 5})
	}
	return t
}

func in(zone string, pods ...int) Machine {
	return Machine{Candidate: offer.Candidate{InstanceType: "two", Zone: zone, CapacityType: "on-demand", Price: 5}, Pods: pods}
}

func pod(app string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "pod-of-" + app, Namespace: "default", Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func small(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
}

func large(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
}

func of(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func spread(key, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: of(app)}}
	}
}

func near(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelTopologyZone, LabelSelector: of(app)}}}}
	}
}

func apart(key, app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: of(app)}}}}
	}
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

var taint = corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}

func tolerating(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
}

const (
	zone   = corev1.LabelTopologyZone
	byHost = corev1.LabelHostname
)

// fault is a plan and what is to be said about it; nothing where it is correct.
type fault struct {
	work workload.Workload
	plan Plan
	want string
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]fault{
		"full":              {pods(pod("a"), pod("a")), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},
		"over capacity":     {pods(pod("a"), pod("a"), pod("a")), Plan{Machines: []Machine{in("a", 0, 1, 2)}}, "3000 of cpu are used and 2000"},
		"twice":             {pods(pod("a")), Plan{Machines: []Machine{in("a", 0), in("b", 0)}}, "more than once"},
		"nobody":            {pods(pod("a")), Plan{Machines: []Machine{in("a", 0), in("a")}}, ""},
		"unknown zone":      {pods(pod("a")), Plan{Machines: []Machine{in("d", 0)}}, "cannot be bought"},
		"wrong price":       {pods(pod("a")), Plan{Machines: []Machine{{Candidate: offer.Candidate{InstanceType: "two", Zone: "a", CapacityType: "on-demand", Price: 4}, Pods: []int{0}}}}, "cannot be bought"},
		"unknown node":      {pods(pod("a")), Plan{Bindings: map[int]string{0: "ghost"}}, "there is no node ghost"},
		"selector met":      {pods(pod("a", selecting(zone, "b"))), Plan{Machines: []Machine{in("b", 0)}}, ""},
		"selector missed":   {pods(pod("a", selecting(zone, "b"))), Plan{Machines: []Machine{in("a", 0)}}, "does not admit"},
		"selector of arch":  {pods(pod("a", selecting(corev1.LabelArchStable, "arm64"))), Plan{Machines: []Machine{in("a", 0)}}, "does not admit"},
		"taint":             {tainted(pods(pod("a"))), Plan{Machines: []Machine{in("a", 0)}}, "does not admit"},
		"taint tolerated":   {tainted(pods(pod("a", tolerating))), Plan{Machines: []Machine{in("a", 0)}}, ""},
		"daemon fits":       {daemons(pods(pod("a")), pod("d")), Plan{Machines: []Machine{in("a", 0)}}, ""},
		"daemon in the way": {daemons(pods(pod("a"), pod("a")), pod("d")), Plan{Machines: []Machine{in("a", 0, 1)}}, "of cpu are used"},
		"daemon too large":  {daemons(pods(pod("a"), pod("a")), pod("d", large)), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},
		"fits on others":    {daemons(alsoFour(pods(pod("a"))), pod("d", large)), Plan{Machines: []Machine{in("a", 0)}}, "of cpu are used"},
		"not on others":     {daemons(alsoFour(pods(pod("a"))), pod("d", large, selecting(corev1.LabelInstanceTypeStable, "two"))), Plan{Machines: []Machine{in("a", 0)}}, ""},
		"not on this node":  {daemons(alsoFour(running(pods(pod("a")), pod("x"))), pod("d", large)), Plan{Bindings: map[int]string{0: "node"}}, ""},
		"daemon elsewhere":  {daemons(tainted(pods(pod("a", tolerating), pod("a", tolerating))), pod("d")), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},

		"apart":                {pods(pod("a", apart(byHost, "a")), pod("a", apart(byHost, "a"))), Plan{Machines: []Machine{in("a", 0), in("a", 1)}}, ""},
		"not apart":            {pods(pod("a", apart(byHost, "a")), pod("a", apart(byHost, "a"))), Plan{Machines: []Machine{in("a", 0, 1)}}, "repel"},
		"the other way":        {pods(pod("a", apart(byHost, "b")), pod("b")), Plan{Machines: []Machine{in("a", 0, 1)}}, "repel"},
		"repelled by one":      {pods(pod("a", apart(byHost, "a")), pod("a")), Plan{Machines: []Machine{in("a", 0, 1)}}, "repel"},
		"not apart in a zone":  {pods(pod("a", apart(zone, "a")), pod("a", apart(zone, "a"))), Plan{Machines: []Machine{in("a", 0), in("a", 1)}}, "repel"},
		"near itself":          {pods(pod("a", near("a")), pod("a", near("a"))), Plan{Machines: []Machine{in("a", 0), in("a", 1)}}, ""},
		"near in two zones":    {pods(pod("a", near("a")), pod("a", near("a"))), Plan{Machines: []Machine{in("a", 0), in("b", 1)}}, "is in 2 domains"},
		"near another":         {pods(pod("a", near("b")), pod("b")), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},
		"far from another":     {pods(pod("a", near("b")), pod("b")), Plan{Machines: []Machine{in("a", 0), in("b", 1)}}, "want company"},
		"bound to a full node": {running(pods(pod("a")), pod("x"), pod("x")), Plan{Bindings: map[int]string{0: "node"}}, "of cpu are used"},
		"bound to a free node": {running(pods(pod("a")), pod("x")), Plan{Bindings: map[int]string{0: "node"}}, ""},
		"repelled by running":  {running(pods(pod("a")), pod("x", apart(byHost, "a"))), Plan{Bindings: map[int]string{0: "node"}}, "repel"},
	} {
		t.Run(name, func(t *testing.T) { c.verify(t) })
	}
}

func TestSpread(t *testing.T) {
	even := spread(zone, "a")
	for name, c := range map[string]fault{
		"even":                      {pods(pod("a", even), pod("a", even), pod("a", even)), Plan{Machines: []Machine{in("a", 0), in("b", 1), in("c", 2)}}, ""},
		"skew of one":               {pods(pod("a", even)), Plan{Machines: []Machine{in("a", 0)}}, ""},
		"skew of two":               {pods(pod("a", even), pod("a", even)), Plan{Machines: []Machine{in("a", 0, 1)}}, "cannot have come"},
		"a zone is empty":           {pods(pod("a", even), pod("a", even), pod("a", even)), Plan{Machines: []Machine{in("a", 0, 1), in("b", 2)}}, "cannot have come"},
		"others came later":         {pods(pod("a", even), pod("a"), pod("a")), Plan{Machines: []Machine{in("a", 0, 1), in("a", 2)}}, ""},
		"others came first":         {pods(pod("a", even), pod("a", even), pod("a"), pod("a")), Plan{Machines: []Machine{in("a", 0, 1), in("b", 2), in("c", 3)}}, ""},
		"counts others":             {pods(pod("x", even), pod("a"), pod("a")), Plan{Machines: []Machine{in("a", 0, 1), in("a", 2)}}, ""},
		"one zone only for the pod": {pods(pod("a", even, selecting(zone, "a")), pod("a", even, selecting(zone, "a"))), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},
		"hosts":                     {pods(pod("a", spread(byHost, "a")), pod("a", spread(byHost, "a"))), Plan{Machines: []Machine{in("a", 0), in("a", 1)}}, ""},
		"two on a host":             {pods(pod("a", spread(byHost, "a")), pod("a", spread(byHost, "a"))), Plan{Machines: []Machine{in("a", 0, 1)}}, "cannot have come"},
		"two on the only node":      {running(pods(pod("a", spread(byHost, "a")), pod("a", spread(byHost, "a")))), Plan{Bindings: map[int]string{0: "node", 1: "node"}}, ""},
		"two on one of two nodes": {
			running(pods(pod("a", spread(byHost, "a")), pod("a", spread(byHost, "a")), pod("b"))),
			Plan{Bindings: map[int]string{0: "node", 1: "node"}, Machines: []Machine{in("a", 2)}}, "cannot have come",
		},
		"a host that filled up later": {pods(pod("a", spread(byHost, "a")), pod("a")), Plan{Machines: []Machine{in("a", 0, 1)}}, ""},
		"no order on a host": {
			pods(pod("f", small, spread(byHost, "g")), pod("f", small, spread(byHost, "g")), pod("g", small, spread(byHost, "f")), pod("g", small, spread(byHost, "f"))),
			Plan{Machines: []Machine{in("a", 0, 1, 2, 3)}}, "cannot have come",
		},
		"an order on a host": {
			pods(pod("f", small, spread(byHost, "g")), pod("f", small, spread(byHost, "g")), pod("g", small, spread(byHost, "f"))),
			Plan{Machines: []Machine{in("a", 0, 1, 2)}}, "",
		},
	} {
		t.Run(name, func(t *testing.T) { c.verify(t) })
	}
}

func (c *fault) verify(t *testing.T) {
	t.Helper()
	got := Faults(&c.work, &c.plan)
	switch {
	case c.want == "" && len(got) > 0:
		t.Errorf("got the faults %q, want none", got)
	case c.want != "" && !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, c.want) }):
		t.Errorf("got the faults %q, want one with %q", got, c.want)
	}
}

func pods(list ...*corev1.Pod) workload.Workload {
	return workload.Workload{Pods: list, Types: []offer.InstanceType{two()}}
}

// alsoFour has a type with twice the room sold too.
func alsoFour(w workload.Workload) workload.Workload {
	four := two()
	four.Name, four.Labels[corev1.LabelInstanceTypeStable] = "four", []string{"four"}
	four.Capacity[amount.CPU] *= 2
	w.Types = append(w.Types, four)
	return w
}

func tainted(w workload.Workload) workload.Workload {
	w.Taints = []corev1.Taint{taint}
	return w
}

func daemons(w workload.Workload, list ...*corev1.Pod) workload.Workload {
	w.Daemons = list
	return w
}

// running adds a node of type two on which pods run.
func running(w workload.Workload, list ...*corev1.Pod) workload.Workload {
	typ := two()
	w.Nodes = []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{byHost: "node", zone: "a"}},
		Status:     corev1.NodeStatus{Allocatable: typ.Allocatable().ResourceList()},
	}}
	for _, p := range list {
		p.Spec.NodeName = "node"
	}
	w.Running = list
	return w
}

func TestPlanCounts(t *testing.T) {
	p := Plan{Machines: []Machine{in("a", 0, 2), in("b", 1)}, Bindings: map[int]string{3: "node"}}
	if p.Price() != 10 || p.Placed() != 4 {
		t.Errorf("%d placed for %d, want 4 for 10", p.Placed(), p.Price())
	}
}

// TestPools: what a Provisioner does not sell, allows no more of or taints is a fault.
func TestPools(t *testing.T) {
	with := func(change func(*api.ProvisionerSpec), list ...*corev1.Pod) workload.Workload {
		w := pods(list...)
		w.Provisioners = []*api.Provisioner{{ObjectMeta: metav1.ObjectMeta{Name: "one"}}}
		change(&w.Provisioners[0].Spec)
		return w
	}
	limited := func(cpu string) func(*api.ProvisionerSpec) {
		return func(s *api.ProvisionerSpec) {
			s.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
	}
	inZone := func(s *api.ProvisionerSpec) {
		s.Requirements = []api.Requirement{{Key: zone, Operator: api.OpIn, Values: []string{"b"}}}
	}
	port := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	}
	of := func(name string) Plan {
		m := in("a", 0)
		m.Provisioner = name
		return Plan{Machines: []Machine{m}}
	}
	for name, c := range map[string]fault{
		"within its limit":   {with(limited("2100m"), pod("a")), of("one"), ""},
		"beyond its limit":   {with(limited("2"), pod("a")), of("one"), "its limit is 2000"},
		"not sold":           {with(inZone, pod("a")), of("one"), "cannot be bought"},
		"nobody's":           {with(inZone, pod("a")), of("two"), "cannot be bought"},
		"two pods of a port": {pods(pod("a", port), pod("a", port)), Plan{Machines: []Machine{in("a", 0, 1)}}, "use the port"},
	} {
		t.Run(name, func(t *testing.T) { c.verify(t) })
	}
}
