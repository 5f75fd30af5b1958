package offer

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Observed is what a kubelet reported of a machine when it registered.
type Observed struct {
	Node, Provisioner     string
	InstanceType, ImageID string
	// Kubelet is the configuration of the kubelet; nil for none.
	Kubelet *api.KubeletConfiguration
	// Profile is the node profile that the machine was built from; nil for the default one.
	Profile *api.NodeProfile
	// Capacity and Allocatable are those of the Node's status. There is no Allocatable if the node
	// profile has changed since.
	Capacity, Allocatable amount.List
}

// Learnt is a figure that observations have put in the place of an estimate.
type Learnt struct {
	InstanceType, ImageID string
	// Memory is the capacity that kubelets report, in bytes.
	Memory int64
}

// Devices is how many of each extended resource the nodes of one set-up have reported at most. One node may have a
// broken device, so fewer than were promised count only once a second node has no more either. If they never counted,
// pods that need what was promised would have the same machine bought again and again.
type Devices map[string]devices

type devices struct {
	most int64
	node string // the first that reported any
	sure bool   // another one has as well
}

// Add notes what a node has reported, and returns whether that changes anything. None is not a report: what a driver
// of dynamic resource allocation provides, a kubelet does not report.
func (d Devices) Add(node string, reported amount.List) (changed bool) {
	for name, count := range reported {
		known, found := d[name]
		if count <= 0 || !amount.Extended(name) {
			continue
		}
		if !found {
			known.node = node
		}
		next := devices{max(known.most, count), known.node, known.sure || node != known.node}
		changed = changed || next != known
		d[name] = next
	}
	return changed
}

// Bound lowers a capacity to what nodes have reported, in place.
func (d Devices) Bound(capacity amount.List) {
	for name, known := range d {
		if known.sure && capacity[name] > known.most {
			capacity[name] = known.most
		}
	}
}
