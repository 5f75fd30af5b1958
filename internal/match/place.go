package match

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Node reports whether a node's name and labels satisfy the requirements.
func Node(r Requirements, n *cluster.Node) (Miss, bool) {
	i := unmet(r, n)
	if i < 0 {
		return Miss{}, true
	}
	return Miss{Kind: Label, Key: r[i].Key, Want: r[i].Set.Brief(), Have: n.Labels[r[i].Key]}, false
}

// Meets is Node without the reason, which takes longer to spell than to find.
func Meets(r Requirements, n *cluster.Node) bool { return unmet(r, n) < 0 }

// unmet returns the first requirement that a node does not meet, or -1.
func unmet(r Requirements, n *cluster.Node) int {
	return slices.IndexFunc(r, func(q Requirement) bool {
		value, ok := n.Labels[q.Key]
		if q.Key == NodeNameField || n.Name == "" && named(q.Key) { // a machine has no name yet
			value, ok = n.Name, true
		}
		if ok {
			return !q.Set.Has(value)
		}
		comes := q.Set.Has("true") && Awaits(n, q.Key)
		return !q.Set.HasMissing() && !comes
	})
}

// Awaits reports whether a node of a Provisioner lacks a label that it gets once it is up. What requires
// the label will run there, and needs room from the start.
func Awaits(n *cluster.Node, key string) bool {
	return key == api.LabelInitialized && n.Labels[key] == "" && (n.Provisioner != "" || n.Labels[api.LabelProvisioner] != "")
}

// named reports whether every node has its own value of the key.
func named(key string) bool { return key == NodeNameField || key == api.LabelHostname }

// Names returns the requirements on names that only nodes which exist can meet.
func (r Requirements) Names() Requirements {
	return slices.DeleteFunc(slices.Clone(r), func(q Requirement) bool { return !named(q.Key) || q.Set.Has("") })
}

// ForProvisioner returns what a Provisioner says about its nodes' labels, with
// its own name. Requirements on the same key are met together.
func ForProvisioner(p *api.Provisioner) Requirements {
	out := Requirements{{Key: api.LabelProvisioner, Set: labelset.Only(p.Name)}}
	for _, r := range p.EffectiveRequirements() {
		set, err := labelset.New(r.Operator, r.Values)
		if err != nil {
			set = labelset.Set{} // an invalid requirement can be met by nothing
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
	out, more := slices.Clone(has), Requirements(nil) // both in order, as pod is
	for _, q := range pod {
		if named(q.Key) {
			switch {
			case q.Set.Has(""): // names are not known before, and hardly one of those to be avoided
				continue
			case q.Key == NodeNameField:
				return nil, Miss{Kind: NodeGone, Key: q.Key, Want: q.Set.Brief()}
			}
			return nil, undefined(p, q)
		}
		i, defined := has.find(q.Key)
		switch {
		case defined && overridden(p, pod, q.Key):
			out[i].Set = q.Set
		case defined:
			both := has[i].Set.Intersect(q.Set)
			if both.Empty() {
				return nil, Miss{Kind: Label, Key: q.Key, Want: q.Set.Brief(), Have: has[i].Set.Brief()}
			}
			out[i].Set = both
		case q.Key == api.LabelInitialized && q.Set.Has("true"): // see Awaits
		case api.WellKnown(q.Key):
			more = append(more, q)
		case q.Set.HasMissing():
			// A node without the label satisfies the pod.
			more = append(more, Requirement{Key: q.Key, Set: q.Set.Intersect(labelset.Missing())})
		default:
			return nil, undefined(p, q)
		}
	}
	return out.And(more), Miss{}
}

func overridden(p *api.Provisioner, pod Requirements, key string) bool {
	_, asked := pod.Get(key)
	return asked && p.LeavesToPods(key)
}

// undefined explains a label that no machine of the Provisioner will have.
func undefined(p *api.Provisioner, q Requirement) Miss {
	m := Miss{Kind: UnknownLabel, Key: q.Key, Want: q.Set.Brief()}
	if why, restricted := p.RestrictedLabel(q.Key); restricted {
		m.Kind, m.Have = Restricted, why
	}
	return m
}
