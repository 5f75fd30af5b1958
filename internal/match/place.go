package match

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Node reports whether a node's name and labels satisfy the requirements.
func Node(r Requirements, n *cluster.Node) (Miss, bool) {
	for _, q := range r {
		value, ok := n.Labels[q.Key]
		if q.Key == NodeNameField {
			value, ok = n.Name, true
		}
		if ok && !q.Set.Has(value) || !ok && !q.Set.HasMissing() {
			return Miss{Kind: Label, Key: q.Key, Want: q.Set.String(), Have: value}, false
		}
	}
	return Miss{}, true
}

// ForProvisioner returns what a Provisioner says about its nodes' labels, with
// its own name. Requirements on the same key are met together.
func ForProvisioner(p *api.Provisioner) Requirements {
	out := Requirements{{Key: api.LabelProvisioner, Set: Only(p.Name)}}
	for _, r := range p.EffectiveRequirements() {
		set, err := NewSet(r.Operator, r.Values)
		if err != nil {
			set = Set{} // an invalid requirement can be met by nothing
		}
		out = out.With(r.Key, set)
	}
	return out
}

// Combined returns what a machine's labels must be so that a pod with the given
// requirements may run on it: a pod chooses among what the Provisioner allows,
// and for keys in podOverrides instead of it. A key that nobody defines is a
// miss unless the pod is content without it.
func Combined(p *api.Provisioner, has, pod Requirements) (Requirements, Miss) {
	if key, bad := has.Unmeetable(); bad && !overridden(p, pod, key) {
		return nil, Miss{Kind: Label, Key: key}
	}
	out := has
	for _, q := range pod {
		if q.Key == NodeNameField {
			if _, listed := q.Set.Values(); listed {
				return nil, Miss{Kind: NodeGone, Want: "cannot give a machine the name that the pod asks for"}
			}
			continue // names are not known before, and hardly one of those to be avoided
		}
		mine, defined := has.Get(q.Key)
		switch {
		case defined && overridden(p, pod, q.Key):
			out = out.Replace(q.Key, q.Set)
		case defined:
			both := mine.Intersect(q.Set)
			if both.Empty() {
				return nil, Miss{Kind: Label, Key: q.Key, Want: q.Set.String(), Have: mine.String()}
			}
			out = out.Replace(q.Key, both)
		case api.WellKnown(q.Key):
			out = out.With(q.Key, q.Set)
		case q.Set.HasMissing():
			// A node without the label satisfies the pod.
			out = out.With(q.Key, q.Set.Intersect(Missing()))
		default:
			return nil, undefined(q)
		}
	}
	return out, Miss{}
}

func overridden(p *api.Provisioner, pod Requirements, key string) bool {
	if !slices.ContainsFunc(p.Spec.PodOverrides, func(o string) bool { return api.NormalizeLabel(o) == key }) {
		return false
	}
	_, asked := pod.Get(key)
	return asked
}

// undefined explains a label that no machine of the Provisioner will have.
func undefined(q Requirement) Miss {
	m := Miss{Kind: UnknownLabel, Key: q.Key, Want: q.Set.String()}
	if why, restricted := api.RestrictedLabel(q.Key); restricted {
		m.Kind, m.Have = Restricted, why
	}
	m.Hint, _ = api.Suggest(q.Key, append(api.WellKnownLabels(), api.LabelProvisioner))
	return m
}
