package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// typeNamed finds an instance type of a Provisioner.
func typeNamed(p *decide.Provisioner, name string) *offer.InstanceType {
	i := slices.IndexFunc(p.Types, func(t offer.InstanceType) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Types[i]
}

func provisionerNamed(in *decide.Input, name string) *decide.Provisioner {
	i := slices.IndexFunc(in.Provisioners, func(p decide.Provisioner) bool { return p.Spec.Name == name })
	if i < 0 {
		return nil
	}
	return &in.Provisioners[i]
}

// nodeOf is the Node of a machine once it is up: with the labels that the agent and its kubelet
// give it, without startup taints.
func nodeOf(name string, t *offer.InstanceType, o offer.Candidate, labels map[string]string, taints []corev1.Taint) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{Taints: slices.Clone(taints)},
		Status: corev1.NodeStatus{
			Capacity: t.Capacity.ResourceList(), Allocatable: t.Allocatable().ResourceList(),
			Conditions: []corev1.NodeCondition{condition(corev1.ConditionTrue)},
		},
	}
	for key := range t.Labels {
		if value, ok := t.Label(key); ok {
			node.Labels[key] = value
		}
	}
	maps.Copy(node.Labels, labels)
	node.Labels[api.LabelHostname] = name
	node.Labels[api.LabelCapacityType] = o.CapacityType
	node.Labels[api.LabelZone] = o.Zone
	api.AddDeprecatedLabels(node.Labels)
	return node
}

func condition(ready corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: now, LastTransitionTime: now}
}

// bought returns the Nodes of a plan's machines, each as the candidate that pick
// chooses of n.
func bought(in *decide.Input, plan *decide.Plan, pick func(n int) int) ([]*corev1.Node, error) {
	var out []*corev1.Node
	for i := range plan.Machines {
		m := &plan.Machines[i]
		c := m.Candidates[pick(len(m.Candidates))]
		p := provisionerNamed(in, m.Provisioner)
		if p == nil {
			return nil, fmt.Errorf("machine %s: no provisioner %s", m.Name, m.Provisioner)
		}
		t := typeNamed(p, c.InstanceType)
		if t == nil {
			return nil, fmt.Errorf("machine %s: no instance type %s", m.Name, c.InstanceType)
		}
		node := nodeOf(m.Name, t, c, m.Labels, m.Taints)
		if len(p.Spec.MinValues()) > 0 || c != m.Chosen() { // it may take what the planned one does not
			closeTo(node)
		}
		out = append(out, node)
	}
	return out, nil
}

// closeTo keeps the pods away that request admission.
func closeTo(n *corev1.Node) {
	n.Status.Allocatable[admission], n.Status.Capacity[admission] = resource.Quantity{}, resource.Quantity{}
}

// first always picks the chosen candidate.
func first(int) int { return 0 }

// any of the candidates may be what the cloud delivers.
func anyOf(r *rand.Rand) func(int) int { return r.IntN }

// onSale returns one Node of each kind that Provisioners may buy: each instance
// type, zone and capacity type, and each value of a label that is left open. Those
// that are over a limit now admit nobody: they count as topology domains, which
// they are as soon as a limit is raised or a machine goes, and take no pods. So do those of a
// Provisioner with minValues: whether one of them may be bought depends on how many others
// hold the pod too, of which the scheduler knows nothing.
func onSale(in *decide.Input, plan *decide.Plan) ([]*corev1.Node, error) {
	var out []*corev1.Node
	for i := range in.Provisioners {
		p := &in.Provisioners[i]
		allowed, err := requirementsOf(p.Spec)
		if err != nil {
			return nil, err
		}
		left := leftOfLimits(in, plan, p)
		for k := range p.Types {
			t := &p.Types[k]
			over := !t.Capacity.Fits(left.Plus(missingFrom(t.Capacity, left))) || len(p.Spec.MinValues()) > 0
			for _, o := range t.Offerings {
				for _, labels := range labelChoices(p.Spec) {
					name := fmt.Sprintf("sale-%d", len(out))
					c := offer.Candidate{InstanceType: t.Name, Zone: o.Zone, CapacityType: o.CapacityType}
					node := nodeOf(name, t, c, labels, p.Spec.Spec.Taints)
					if over {
						closeTo(node)
					}
					if o.Unavailable == "" && allowed.Match(node) {
						out = append(out, node)
					}
				}
			}
		}
	}
	return out, nil
}

// missingFrom returns the amounts that a limit does not speak of.
func missingFrom(l, limits amount.List) amount.List {
	out := amount.List{}
	for name, v := range l {
		if _, limited := limits[name]; !limited {
			out[name] = v
		}
	}
	return out
}

// leftOfLimits returns what may still be bought of the limited resources.
func leftOfLimits(in *decide.Input, plan *decide.Plan, p *decide.Provisioner) amount.List {
	if p.Spec.Spec.Limits == nil {
		return nil
	}
	limits := amount.FromResourceList(p.Spec.Spec.Limits.Resources)
	left := maps.Clone(limits)
	take := func(l amount.List) {
		for name := range limits {
			left[name] -= l[name]
		}
	}
	for i := range in.Snapshot.Nodes {
		if n := &in.Snapshot.Nodes[i]; n.Provisioner == p.Spec.Name {
			take(n.Capacity.OfNode())
		}
	}
	for i := range plan.Machines {
		if m := &plan.Machines[i]; m.Provisioner == p.Spec.Name {
			take(typeNamed(p, m.Chosen().InstanceType).Capacity.OfNode())
		}
	}
	return left
}

// requirementsOf reads a Provisioner's requirements with the scheduler's own code.
func requirementsOf(p *api.Provisioner) (*nodeaffinity.NodeSelector, error) {
	var term corev1.NodeSelectorTerm
	for _, r := range p.EffectiveRequirements() {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values,
		})
	}
	return nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}})
}

// labelChoices returns the labels that a Provisioner may give a node: its own, with
// each value of those of the user that its requirements list.
func labelChoices(p *api.Provisioner) []map[string]string {
	own := maps.Clone(p.Spec.Labels)
	if own == nil {
		own = map[string]string{}
	}
	own[api.LabelProvisioner] = p.Name
	out := []map[string]string{own}
	for _, r := range p.Spec.Requirements {
		if api.WellKnown(r.Key) || r.Operator != api.OpIn {
			continue
		}
		var more []map[string]string
		for _, labels := range out {
			for _, value := range r.Values {
				chosen := maps.Clone(labels)
				chosen[r.Key] = value
				more = append(more, chosen)
			}
		}
		out = more
	}
	return out
}
