package view

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// WithoutNodes is the cluster without the nodes that belong to Provisioners, with their pods waiting,
// and what may be bought for it. What nodes bring along is left out.
func (v *View) WithoutNodes() (*cluster.Snapshot, []decide.Provisioner) {
	out := *v.Snapshot
	out.Nodes, out.Pods = nil, make([]cluster.Pod, 0, len(v.Snapshot.Pods))
	ours, released := map[string]bool{}, map[string]int64{}
	for n := range v.Snapshot.EachNode() {
		if n.Provisioner == "" {
			out.Nodes = append(out.Nodes, *n)
			continue
		}
		ours[n.Name] = true
		if n.Reserved() {
			released[n.Labels[api.LabelReservationID]]++
		}
	}
	for _, p := range v.Snapshot.Pods {
		if ours[p.NodeName] {
			if !p.NeedsNode() {
				continue
			}
			p.NodeName, p.State, p.Running = "", cluster.PodPending, false
		}
		out.Pods = append(out.Pods, p)
	}
	return &out, v.released(released)
}

// released are the markets of the Provisioners with more room in capacity reservations. A reservation that
// was full sells again.
func (v *View) released(room map[string]int64) []decide.Provisioner {
	out := v.Markets()
	for i := range out {
		p := &out[i]
		if p.Index == nil || len(p.Index.Reserved) == 0 {
			continue
		}
		p.Types = slices.Clone(p.Types) // the turn's own are shared
		for _, at := range p.Index.Reserved {
			t := &p.Types[at.Type]
			t.Offerings = slices.Clone(t.Offerings)
			o := &t.Offerings[at.Offering]
			if more := room[o.Reservation]; more > 0 {
				if o.Left == 0 {
					o.Unavailable = ""
				}
				o.Left += more
			}
		}
	}
	return out
}
