package decide

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Devices come after the node: a kubelet reports none of an extended resource until its
// device plugin has registered. Until the node is initialized, what its instance type
// promises counts. Otherwise the pods that a machine was bought for would not fit on it
// any more, and limits would not see what it has.

// Promised returns the snapshot with the extended resources that nodes of the Provisioners
// do not report yet. What comes later than the startup timeout is not planned with any
// more, but still counts towards limits: the machine has it.
func Promised(s *cluster.Snapshot, provisioners []Provisioner, now time.Time, timeout time.Duration) *cluster.Snapshot {
	out := s
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Provisioner == "" || n.Initialized || len(n.Awaited) > 0 {
			continue
		}
		t := typeOf(n, provisioners)
		if t == nil {
			continue
		}
		awaited := missing(n, t)
		if len(awaited) == 0 {
			continue
		}
		if out == s {
			copied := *s
			copied.Nodes = slices.Clone(s.Nodes)
			out = &copied
		}
		promise(&out.Nodes[i], t, awaited, timeout > 0 && now.Sub(n.Created) >= timeout)
	}
	return out
}

// typeOf finds the type of a node's machine, as its Provisioner knows it or else another.
func typeOf(n *cluster.Node, provisioners []Provisioner) *offer.InstanceType {
	var found *offer.InstanceType
	for i := range provisioners {
		p := &provisioners[i]
		k, ok := slices.BinarySearchFunc(p.Types, n.Labels[api.LabelInstanceType], func(t offer.InstanceType, name string) int { return strings.Compare(t.Name, name) })
		if ok && (found == nil || p.Spec.Name == n.Provisioner) {
			found = &p.Types[k]
		}
	}
	return found
}

// missing lists the extended resources of the type that the node does not report.
func missing(n *cluster.Node, t *offer.InstanceType) []string {
	var out []string
	for name, v := range t.Capacity {
		if v > 0 && strings.Contains(name, "/") && (n.Allocatable[name] == 0 || n.Capacity[name] == 0) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func promise(n *cluster.Node, t *offer.InstanceType, awaited []string, late bool) {
	n.Awaited = awaited
	n.Capacity, n.Allocatable = clone(n.Capacity), clone(n.Allocatable)
	allocatable := t.Allocatable()
	for _, name := range awaited {
		n.Capacity[name] = max(n.Capacity[name], t.Capacity[name])
		if !late {
			n.Allocatable[name] = max(n.Allocatable[name], allocatable[name])
		}
	}
}

func clone(l amount.List) amount.List {
	if l == nil {
		return amount.List{}
	}
	return maps.Clone(l)
}
