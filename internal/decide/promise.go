package decide

import (
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
// do not report. What comes later than the startup timeout is not planned with any
// more, but still counts towards limits: the machine has it.
//
// What the kubelet of an initialized node does not report may never be reported: a driver of dynamic resource
// allocation provides it (DeviceClass, spec.extendedResourceName). It counts towards limits.
//
// A resource that a pod of the node uses has come, and no device plugin is waited for. It counts in the same way, also
// once the node is initialized.
func Promised(s *cluster.Snapshot, provisioners []Provisioner, now time.Time, timeout time.Duration) *cluster.Snapshot {
	out, inUse := s, devicesInUse(s)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Provisioner == "" || len(n.Awaited) > 0 {
			continue
		}
		t := typeOf(n, provisioners)
		if t == nil {
			continue
		}
		names := missing(n, t)
		if len(names) == 0 {
			continue
		}
		if out == s {
			copied := *s
			copied.Nodes = slices.Clone(s.Nodes)
			out = &copied
		}
		late := timeout > 0 && now.Sub(n.Created) >= timeout
		come := func(name string) bool { return inUse[n.Name][name] }
		if !n.Initialized {
			out.Nodes[i].Awaited = slices.DeleteFunc(slices.Clone(names), come)
		}
		promise(&out.Nodes[i], t, names, func(name string) bool { return !late && (!n.Initialized || come(name)) })
	}
	return out
}

// devicesInUse returns the extended resources that pods use, by node. Only schedulers bind pods that need devices, and not
// before these are there, so a pod uses them that has not started yet.
func devicesInUse(s *cluster.Snapshot) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.NodeName == "" {
			continue
		}
		for name, v := range p.Template.Requests {
			if v <= 0 || !amount.Extended(name) {
				continue
			}
			if out[p.NodeName] == nil {
				out[p.NodeName] = map[string]bool{}
			}
			out[p.NodeName][name] = true
		}
	}
	return out
}

// typeOf finds the type of a node's machine, as its Provisioner knows it or else another.
func typeOf(n *cluster.Node, provisioners []Provisioner) *offer.InstanceType {
	if own := provisionerNamed(provisioners, n.Provisioner); own != nil {
		if t := own.typeOf(n); t != nil {
			return t
		}
	}
	for i := range provisioners {
		if t := provisioners[i].typeOf(n); t != nil {
			return t
		}
	}
	return nil
}

// typeOf finds the type of a node's machine as the Provisioner would buy it now; nil for none.
func (p *Provisioner) typeOf(n *cluster.Node) *offer.InstanceType {
	k, ok := slices.BinarySearchFunc(p.Types, n.Labels[api.LabelInstanceType], func(t offer.InstanceType, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return &p.Types[k]
}

// missing lists the extended resources of the type that the node does not report.
func missing(n *cluster.Node, t *offer.InstanceType) []string {
	var out []string
	for name, v := range t.Capacity {
		if v > 0 && amount.Extended(name) && (n.Allocatable[name] == 0 || n.Capacity[name] == 0) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// promise adds what the type has of the resources, and room for those that pods can use.
func promise(n *cluster.Node, t *offer.InstanceType, names []string, usable func(string) bool) {
	n.Capacity, n.Allocatable = n.Capacity.Plus(nil), n.Allocatable.Plus(nil)
	allocatable := t.Allocatable()
	for _, name := range names {
		n.Capacity[name] = max(n.Capacity[name], t.Capacity[name])
		if usable(name) {
			n.Allocatable[name] = max(n.Allocatable[name], allocatable[name])
		}
	}
}
