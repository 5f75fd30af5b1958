package view

import (
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Unreserved is the change to a node whose capacity reservation has ended: its machine runs
// on as an on-demand machine, and is paid for as one. It reports false for all other nodes.
// A node that is not up yet is left alone, because EC2 may not say of a new instance yet
// which reservation it is in.
func Unreserved(p *Provisioner, n *cluster.Node, i offer.Instance) (cluster.NodeChange, bool) {
	if !n.Reserved() || i.CapacityType != api.CapacityOnDemand || !n.Initialized {
		return cluster.NodeChange{}, false
	}
	change := cluster.NodeChange{
		SetLabels:    map[string]string{api.LabelCapacityType: api.CapacityOnDemand},
		RemoveLabels: []string{api.LabelReservationID, api.LabelReservationType},
	}
	if price := p.onDemandPrice(i); price > 0 {
		change.SetAnnotations = map[string]string{api.AnnotationHourlyPrice: strconv.FormatInt(int64(price), 10)}
	} else {
		change.RemoveAnnotations = []string{api.AnnotationHourlyPrice} // next to nothing, as long as the reservation is paid for
	}
	return change, true
}

// onDemandPrice is what the machine costs outside of a reservation; 0 where that is not known. There may be no
// Provisioner.
func (p *Provisioner) onDemandPrice(i offer.Instance) offer.Price {
	if p == nil {
		return 0
	}
	if t := p.InstanceType(i.InstanceType); t != nil {
		if o := t.OfferingIn(i.Zone, api.CapacityOnDemand); o != nil {
			return o.Price
		}
	}
	return 0
}
