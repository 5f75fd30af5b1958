package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
)

// host is a node or a machine with all that will run on it.
type host struct {
	node *corev1.Node
	pods []*corev1.Pod
	// placed is where, in pods, those begin that the plan put there.
	placed int
	isNew  bool // bought by the plan
}

func (h *host) name() string { return h.node.Name }

// checker collects what is wrong with a plan.
type checker struct {
	work   *workload.Workload
	hosts  []*host
	faults []string
	zones  map[string][]string // see domains
}

func (c *checker) faultf(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// Faults returns what is wrong with the plan; none for a correct one. Pods
// without a place are no fault: see Placed.
func Faults(w *workload.Workload, p *Plan) []string {
	c := &checker{work: w, zones: map[string][]string{}}
	c.once(p)
	c.settle(p)
	c.limits()
	admits := map[admission]bool{}
	for _, h := range c.hosts {
		c.capacity(h)
		c.ports(h)
		for _, pod := range h.pods[h.placed:] {
			c.admission(admits, h, pod)
		}
	}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone} {
		c.affinity(key)
		c.spread(key)
	}
	return c.faults
}

// once: no pod is placed twice and none is made up.
func (c *checker) once(p *Plan) {
	places := make([]int, len(c.work.Pods))
	count := func(pod int) {
		if pod < 0 || pod >= len(places) {
			c.faultf("there is no pod %d", pod)
			return
		}
		if places[pod]++; places[pod] == 2 {
			c.faultf("pod %s is placed more than once", c.work.Pods[pod].Name)
		}
	}
	for pod := range p.Bindings {
		count(pod)
	}
	for i := range p.Machines {
		for _, pod := range p.Machines[i].Pods {
			count(pod)
		}
	}
}

// settle builds the cluster that the plan leads to.
func (c *checker) settle(p *Plan) {
	byName := map[string]*host{}
	for _, n := range c.work.Nodes {
		h := &host{node: n}
		byName[n.Name] = h
		c.hosts = append(c.hosts, h)
	}
	for _, pod := range c.work.Running {
		h := byName[pod.Spec.NodeName]
		h.pods = append(h.pods, pod)
		h.placed++
	}
	for _, pod := range slices.Sorted(maps.Keys(p.Bindings)) {
		if h := byName[p.Bindings[pod]]; h == nil {
			c.faultf("there is no node %s", p.Bindings[pod])
		} else {
			h.pods = append(h.pods, c.work.Pods[pod])
		}
	}
	for i := range p.Machines {
		m := &p.Machines[i]
		node := c.node(fmt.Sprintf("machine-%d", i), m)
		if node == nil {
			c.faultf("machine %d: %s cannot be bought as %s in %s at %v", i, m.InstanceType, m.CapacityType, m.Zone, m.Price)
			continue
		}
		h := &host{node: node, isNew: true}
		for _, pod := range m.Pods {
			h.pods = append(h.pods, c.work.Pods[pod])
		}
		c.hosts = append(c.hosts, h)
	}
}

// capacity: what the pods and the daemons ask for is there.
func (c *checker) capacity(h *host) {
	if len(h.pods) == h.placed {
		return
	}
	used := amount.List{}
	add := func(pod *corev1.Pod) {
		for name, v := range Requests(pod) {
			used[name] += v
		}
	}
	for _, pod := range h.pods {
		add(pod)
	}
	room := amount.FromResourceList(h.node.Status.Allocatable)
	for _, pod := range c.work.Daemons {
		if Expects(c.work, h.node, pod) {
			add(pod)
		}
	}
	for _, name := range used.Names() {
		if used[name] > room[name] {
			c.faultf("%s (%s): %d of %s are used and %d are there", h.name(), h.node.Labels[corev1.LabelInstanceTypeStable], used[name], name, room[name])
		}
	}
}

// admission is a question about a kind of node and a kind of pod: machines of one
// type in one zone differ in their name only, which no pod selects.
type admission struct{ node, pod string }

func (c *checker) admission(known map[admission]bool, h *host, pod *corev1.Pod) {
	key := admission{
		node: fmt.Sprint(h.node.Labels[corev1.LabelInstanceTypeStable], h.node.Labels[corev1.LabelTopologyZone], h.node.Labels[api.LabelCapacityType], h.node.Labels[api.LabelProvisioner]),
		pod:  Asks(pod),
	}
	ok, seen := known[key]
	if !seen {
		ok = admitted(h.node, pod)
		known[key] = ok
	}
	if !ok {
		c.faultf("%s with the labels %v and the taints %v does not admit pod %s", h.name(), h.node.Labels, h.node.Spec.Taints, pod.Name)
	}
}

// Asks tells pods apart by what they ask of a node's labels and taints.
func Asks(pod *corev1.Pod) string {
	var terms *corev1.NodeSelector
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		terms = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	text, err := json.Marshal([]any{pod.Spec.NodeSelector, pod.Spec.Tolerations, terms})
	if err != nil {
		return pod.Name
	}
	return string(text)
}

// admitted reports whether labels and taints of the node let the pod in.
func admitted(node *corev1.Node, pod *corev1.Pod) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	if err != nil || !ok {
		return false
	}
	hard := func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }
	_, refused := schedulinghelper.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, hard, false)
	return !refused
}

// matcher returns a selector within a namespace.
func matcher(namespace string, s *metav1.LabelSelector) func(*corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		selector = labels.Nothing()
	}
	return func(p *corev1.Pod) bool { return p.Namespace == namespace && selector.Matches(labels.Set(p.Labels)) }
}
