package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// signature is what groups look at of the node that a machine will be.
type signature struct {
	zone   bool  // groups that count all nodes of a zone
	groups []int // others
}

// signatureOf returns what the groups of the machine's pods and DaemonSets look at.
func signatureOf(mk *assign.Market, m *assign.Machine) signature {
	var out signature
	add := func(ids []int) {
		for _, id := range ids {
			if g := mk.State.List[id]; !g.Selective() && g.Key == api.LabelZone {
				out.zone = true
			} else if !slices.Contains(out.groups, id) {
				out.groups = append(out.groups, id)
			}
		}
	}
	for _, i := range mk.State.DaemonsOn(m.Offering) {
		add(mk.State.Daemons[i].Members)
		add(mk.State.Daemons[i].Repels)
	}
	for _, p := range m.Placed {
		add(p.Class.Members)
	}
	return out
}

// sameSignature reports whether a machine with the topology signature counts alike if it is of
// another offering.
func sameSignature(mk *assign.Market, offering int, m *assign.Machine, f signature) bool {
	if offering == m.Offering || len(mk.State.List) == 0 {
		return true
	}
	if !mk.SameDaemons(offering, m.Offering) || f.zone && mk.Offerings[offering].Offer.Zone != mk.Offerings[m.Offering].Offer.Zone {
		return false
	}
	return !slices.ContainsFunc(f.groups, func(id int) bool { return !countsAlike(mk, mk.State.List[id], offering, m.Offering, m.Residual) })
}

// countsAlike reports whether a group counts machines of two offerings alike.
func countsAlike(mk *assign.Market, g *topology.Group, a, b, residual int) bool {
	is := &model.Node{Node: &cluster.Node{Labels: mk.LabelsOf(a, residual)}}
	was := &model.Node{Node: &cluster.Node{Labels: mk.LabelsOf(b, residual)}}
	return is.Labels[g.Key] == was.Labels[g.Key] && g.Counts(is) == g.Counts(was)
}
