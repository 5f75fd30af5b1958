package check

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// node is what the machine will register as; nil where it cannot be bought.
func (c *checker) node(name string, m *Machine) *corev1.Node {
	pool := c.pool(m.Provisioner)
	i := slices.IndexFunc(c.work.Types, func(t offer.InstanceType) bool { return t.Name == m.InstanceType })
	if pool == nil || i < 0 {
		return nil
	}
	t := &c.work.Types[i]
	sold := slices.ContainsFunc(t.Offerings, func(o offer.Offering) bool {
		return o.Zone == m.Zone && o.CapacityType == m.CapacityType && o.Price == m.Price
	})
	node := NodeOf(pool, t, m.Zone, m.CapacityType)
	node.Name, node.Labels[corev1.LabelHostname] = name, name
	maps.Copy(node.Labels, m.Labels)
	if !sold || !Sells(pool, node) {
		return nil
	}
	return node
}

func (c *checker) pool(name string) *api.Provisioner {
	pools := c.work.Pools()
	i := slices.IndexFunc(pools, func(p *api.Provisioner) bool { return p.Name == name || name == "" && len(pools) == 1 })
	if i < 0 {
		return nil
	}
	return pools[i]
}

// NodeOf is the node that a pool's machine registers as, but for its name. Of a label
// that the type leaves open it has the first value.
func NodeOf(pool *api.Provisioner, t *offer.InstanceType, zone, capacityType string) *corev1.Node {
	set := map[string]string{
		corev1.LabelTopologyZone: zone, api.LabelCapacityType: capacityType, api.LabelProvisioner: pool.Name,
	}
	for key, values := range t.Labels {
		set[key] = values[0]
	}
	maps.Copy(set, pool.Spec.Labels)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: set},
		Spec:       corev1.NodeSpec{Taints: pool.Spec.Taints},
		Status:     corev1.NodeStatus{Capacity: t.Capacity.ResourceList(), Allocatable: t.Capacity.Minus(t.Overhead).ResourceList()},
	}
}

// Sells reports whether a node meets the requirements of the pool.
func Sells(pool *api.Provisioner, node *corev1.Node) bool {
	term := corev1.NodeSelectorTerm{}
	for _, r := range pool.Spec.Requirements {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values,
		})
	}
	if len(term.MatchExpressions) == 0 {
		return true
	}
	selector, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
	return err == nil && selector.Match(node)
}

// ForSale lists the machines that the pools of a workload can buy, each with the node that it
// registers as.
func ForSale(w *workload.Workload) iter.Seq2[Machine, *corev1.Node] {
	return func(yield func(Machine, *corev1.Node) bool) {
		for _, pool := range w.Pools() {
			for i := range w.Types {
				t := &w.Types[i]
				for _, o := range t.Offerings {
					node := NodeOf(pool, t, o.Zone, o.CapacityType)
					m := Machine{Provisioner: pool.Name, Candidate: offer.Candidate{InstanceType: t.Name, Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price}}
					if Sells(pool, node) && !yield(m, node) {
						return
					}
				}
			}
		}
	}
}

// limits: the nodes of each pool, those that exist included, have no more capacity
// together than it allows.
func (c *checker) limits() {
	for _, pool := range c.work.Pools() {
		if pool.Spec.Limits == nil {
			continue
		}
		limits, used, bought := amount.FromResourceList(pool.Spec.Limits.Resources), amount.List{}, false
		for _, h := range c.hosts {
			if h.node.Labels[api.LabelProvisioner] != pool.Name {
				continue
			}
			bought = bought || h.isNew
			for name, v := range amount.FromResourceList(h.node.Status.Capacity) {
				used[name] += v
			}
			used[amount.Nodes]++
		}
		for _, name := range limits.Names() {
			if bought && used[name] > limits[name] {
				c.faultf("%s: %d of %s are had and its limit is %d", pool.Name, used[name], name, limits[name])
			}
		}
	}
}

// ports: no two pods of a host use the same port of it.
func (c *checker) ports(h *host) {
	seen := map[string]bool{}
	for _, pod := range h.pods {
		for i := range pod.Spec.Containers {
			for _, p := range pod.Spec.Containers[i].Ports {
				if p.HostPort == 0 {
					continue
				}
				id := fmt.Sprint(p.HostPort, p.Protocol)
				if seen[id] {
					c.faultf("%s: two pods use the port %s", h.name(), id)
				}
				seen[id] = true
			}
		}
	}
}

// Admits reports whether labels and taints of a node let a pod in.
func Admits(node *corev1.Node, pod *corev1.Pod) bool { return admitted(node, pod) }

// Room is what DaemonSets leave of a node.
func Room(w *workload.Workload, node *corev1.Node) amount.List {
	room := amount.FromResourceList(node.Status.Allocatable)
	for _, pod := range w.Daemons {
		if Expects(w, node, pod) {
			room = room.Minus(Requests(pod))
		}
	}
	return room
}

// Expects reports whether the pod of a DaemonSet belongs on a node. It does not where it stays pending
// whatever is bought: on nodes of the workload on which it does not even fit alone, and on new ones if
// it fits on none that their Provisioner sells and that admits it.
func Expects(w *workload.Workload, node *corev1.Node, pod *corev1.Pod) bool {
	fits := func(n *corev1.Node) bool { return Requests(pod).Fits(amount.FromResourceList(n.Status.Allocatable)) }
	if !admitted(node, pod) {
		return false
	}
	if fits(node) {
		return true
	}
	if slices.Contains(w.Nodes, node) {
		return false
	}
	for m, other := range ForSale(w) {
		if m.Provisioner == node.Labels[api.LabelProvisioner] && fits(other) && admitted(other, pod) {
			return true
		}
	}
	return false
}

// Requests is what a pod takes of a node.
func Requests(pod *corev1.Pod) amount.List {
	out := amount.List{amount.Pods: 1}
	for name, q := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		out[string(name)] += amount.FromQuantity(string(name), q)
	}
	return out
}
