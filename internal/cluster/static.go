package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// image is what nodes of a Provisioner boot from. No id stands for all of its images: which one a launch template of the
// user's own names is not known before a machine runs.
type image struct{ provisioner, id string }

// staticPod is what static pods of several nodes have in common. The kubelet adds the name of its node to theirs.
type staticPod struct {
	namespace, name string
	template        *Template
}

// staticPods are the static pods of nodes, by the name of the node.
type staticPods map[string]map[staticPod]bool

// WithStaticPods returns the snapshot with static pods as DaemonSets. What all nodes have that are up, the image brings
// along, and the next nodes will have it, too: if nothing were left for it, the kubelet would refuse other pods. A static
// pod that some of the nodes lack was put there by hand. The argument is not changed.
func (s *Snapshot) WithStaticPods() *Snapshot {
	on, seen := staticPods{}, map[staticPod]bool{}
	var known []staticPod // in the order of the pods
	for p := range s.EachPod() {
		if !p.Template.Static || p.NodeName == "" {
			continue
		}
		of := staticPod{p.Namespace, strings.TrimSuffix(p.Name, "-"+p.NodeName), p.Template}
		if !seen[of] {
			seen[of], known = true, append(known, of)
		}
		if on[p.NodeName] == nil {
			on[p.NodeName] = map[staticPod]bool{}
		}
		on[p.NodeName][of] = true
	}
	if len(on) == 0 {
		return s
	}
	out := *s
	out.DaemonSets = slices.Clone(s.DaemonSets)
	common := s.onAllNodes(on)
	for _, p := range known {
		provisioners := map[string][]string{} // by image
		for of, all := range common {
			if all[p] {
				provisioners[of.id] = append(provisioners[of.id], of.provisioner)
			}
		}
		if len(provisioners) > 0 {
			out.DaemonSets = append(out.DaemonSets, DaemonSet{Namespace: p.namespace, Name: p.name + " (static)", Template: p.onNodesOf(provisioners, s.having(p, on))})
		}
	}
	return &out
}

// onAllNodes returns the static pods that each node of an image has which is up.
func (s *Snapshot) onAllNodes(on staticPods) map[image]map[staticPod]bool {
	out := map[image]map[staticPod]bool{}
	for n := range s.EachNode() {
		if n.Provisioner == "" || !n.Initialized || !n.Ready || n.Deleting {
			continue
		}
		for _, of := range []image{{n.Provisioner, n.Labels[api.LabelInstanceAMIID]}, {n.Provisioner, ""}} {
			if all, known := out[of]; known {
				maps.DeleteFunc(all, func(p staticPod, _ bool) bool { return !on[n.Name][p] })
			} else {
				out[of] = maps.Clone(on[n.Name])
			}
		}
	}
	return out
}

// having returns the nodes that are not up yet and have the pod already.
func (s *Snapshot) having(p staticPod, on staticPods) []string {
	var out []string
	for n := range s.EachNode() {
		if !n.Initialized && on[n.Name][p] {
			out = append(out, n.Name)
		}
	}
	return out
}

// onNodesOf returns what the pod asks for on new nodes of these Provisioners, which are given by image, but for some nodes.
func (p *staticPod) onNodesOf(provisioners map[string][]string, except []string) *Template {
	require := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	var terms []corev1.NodeSelectorTerm
	for _, id := range slices.Sorted(maps.Keys(provisioners)) {
		booted := require(api.LabelInstanceAMIID, corev1.NodeSelectorOpIn, id)
		if id == "" {
			booted = require(api.LabelInstanceAMIID, corev1.NodeSelectorOpDoesNotExist)
		}
		slices.Sort(provisioners[id])
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			booted, require(api.LabelProvisioner, corev1.NodeSelectorOpIn, provisioners[id]...), require(api.LabelInitialized, corev1.NodeSelectorOpDoesNotExist),
		}}
		if len(except) > 0 {
			term.MatchFields = []corev1.NodeSelectorRequirement{require("metadata.name", corev1.NodeSelectorOpNotIn, except...)}
		}
		terms = append(terms, term)
	}
	out := *p.template
	out.NodeSelector, out.Spread = nil, nil
	out.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
	out.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} // no taint keeps it away
	return &out
}
