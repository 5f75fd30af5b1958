package cluster

import (
	"cmp"
	"slices"
	"strings"
)

// PodsByNode returns the pods that are bound to each node, by its name.
func (s *Snapshot) PodsByNode() map[string][]*Pod {
	out := map[string][]*Pod{}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.NodeName != "" {
			out[p.NodeName] = append(out[p.NodeName], p)
		}
	}
	return out
}

// Pending returns the pods that wait for a node.
func (s *Snapshot) Pending() []*Pod {
	var out []*Pod
	for i := range s.Pods {
		if s.Pods[i].State == PodPending {
			out = append(out, &s.Pods[i])
		}
	}
	return out
}

// Node returns the node of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Node(name string) *Node {
	i, ok := slices.BinarySearchFunc(s.Nodes, name, func(n Node, name string) int { return strings.Compare(n.Name, name) })
	if !ok {
		return nil
	}
	return &s.Nodes[i]
}

// Claim returns the claim of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Claim(namespace, name string) *Claim {
	i, ok := slices.BinarySearchFunc(s.Claims, name, func(c Claim, name string) int {
		return cmp.Or(strings.Compare(c.Namespace, namespace), strings.Compare(c.Name, name))
	})
	if !ok {
		return nil
	}
	return &s.Claims[i]
}

// Volume returns the volume of that name in a sorted snapshot; nil if there is none.
func (s *Snapshot) Volume(name string) *Volume {
	i, ok := slices.BinarySearchFunc(s.Volumes, name, func(v Volume, name string) int { return strings.Compare(v.Name, name) })
	if !ok {
		return nil
	}
	return &s.Volumes[i]
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
	i, ok := slices.BinarySearchFunc(s.Deployments, name, func(d Deployment, name string) int {
		return cmp.Or(cmp.Compare(d.Namespace, namespace), cmp.Compare(d.Name, name))
	})
	if !ok {
		return nil
	}
	return &s.Deployments[i]
}

// HeldBy reports whether the node has that finalizer, so that its deletion waits.
func (n *Node) HeldBy(finalizer string) bool { return slices.Contains(n.Finalizers, finalizer) }

// InstanceID is the last part of the provider id, such as i-0123 of aws:///zone/i-0123.
func (n *Node) InstanceID() string { return n.ProviderID[strings.LastIndex(n.ProviderID, "/")+1:] }
