package cluster

import (
	"cmp"
	"iter"
	"sort"
	"strings"
)

// EachNode lists the nodes by their addresses.
func (s *Snapshot) EachNode() iter.Seq[*Node] { return each(s.Nodes) }

// EachPod lists the pods by their addresses.
func (s *Snapshot) EachPod() iter.Seq[*Pod] { return each(s.Pods) }

func each[T any](list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range list {
			if !yield(&list[i]) {
				return
			}
		}
	}
}

// NodesThat returns the nodes of which something is true.
func (s *Snapshot) NodesThat(are func(*Node) bool) []*Node {
	var out []*Node
	for n := range s.EachNode() {
		if are(n) {
			out = append(out, n)
		}
	}
	return out
}

// PodsByNode returns the pods that are bound to each node, by its name.
func (s *Snapshot) PodsByNode() map[string][]*Pod {
	out := map[string][]*Pod{}
	for p := range s.EachPod() {
		if p.NodeName != "" {
			out[p.NodeName] = append(out[p.NodeName], p)
		}
	}
	return out
}

// Pending returns the pods that wait for a node.
func (s *Snapshot) Pending() []*Pod { return s.podsIn(PodPending) }

// Failing returns the pods that schedulers cannot place because of errors.
func (s *Snapshot) Failing() []*Pod { return s.podsIn(PodFailing) }

func (s *Snapshot) podsIn(state PodState) []*Pod {
	var out []*Pod
	for p := range s.EachPod() {
		if p.State == state {
			out = append(out, p)
		}
	}
	return out
}

// Node returns the node of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Node(name string) *Node {
	return find(s.Nodes, func(n *Node) int { return strings.Compare(name, n.Name) })
}

// Claim returns the claim of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Claim(namespace, name string) *Claim {
	return find(s.Claims, func(c *Claim) int {
		return cmp.Or(strings.Compare(namespace, c.Namespace), strings.Compare(name, c.Name))
	})
}

// Volume returns the volume of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Volume(name string) *Volume {
	return find(s.Volumes, func(v *Volume) int { return strings.Compare(name, v.Name) })
}

// LocalVolume returns a volume of the template's pods that lies on the disks of one node and is not deleted with
// its pod; nil if there is none.
func (s *Snapshot) LocalVolume(t *Template) *Volume {
	for _, ref := range t.Claims {
		if c := s.Claim(t.Namespace, ref.Name); c != nil && !ref.Ephemeral {
			if v := s.Volume(c.VolumeName); v != nil && v.Local && v.onOneNode() {
				return v
			}
		}
	}
	return nil
}

// Deployment returns the Deployment of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Deployment(namespace, name string) *Deployment {
	return find(s.Deployments, func(d *Deployment) int {
		return cmp.Or(strings.Compare(namespace, d.Namespace), strings.Compare(name, d.Name))
	})
}

// find returns the object of a sorted list that is sought; nil if there is none. Order compares what is sought
// with an object.
func find[T any](sorted []T, order func(*T) int) *T {
	i, ok := sort.Find(len(sorted), func(i int) int { return order(&sorted[i]) })
	if !ok {
		return nil
	}
	return &sorted[i]
}
