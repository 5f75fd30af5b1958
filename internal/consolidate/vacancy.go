package consolidate

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// vacancy is room in a capacity reservation, which is paid for whether or not it is used: machines that a Provisioner may
// still launch there.
type vacancy struct {
	provisioner *api.Provisioner
	labels      match.Requirements // of one machine, as far as type and offering decide them
	room        amount.List        // of one machine
	reservation string
	left        int64
}

// vacancies are found for each kind of pods once.
type vacancies struct {
	all     []vacancy
	volumes *match.Volumes
	open    map[*cluster.Template][]*vacancy
}

func newVacancies(base *pack.Problem) *vacancies {
	v := &vacancies{open: map[*cluster.Template][]*vacancy{}}
	for i := range base.Provisioners {
		p := &base.Provisioners[i]
		if p.Closed != "" || p.Spec.DeletionTimestamp != nil {
			continue
		}
		for k := range p.Types {
			for _, o := range p.Types[k].Offerings {
				if o.Left > 0 && o.Unavailable == "" {
					v.all = append(v.all, vacancy{p.Spec, labelsOf(&p.Types[k], &o), p.Types[k].Allocatable(), o.Reservation, o.Left})
				}
			}
		}
	}
	if len(v.all) > 0 {
		v.volumes = match.NewVolumes(base.Snapshot)
	}
	return v
}

// labelsOf are the labels of a machine that follow from its type and its offering.
func labelsOf(t *offer.InstanceType, o *offer.Offering) (out match.Requirements) {
	for key, values := range t.Labels {
		out = out.With(key, labelset.Only(values...))
	}
	for _, key := range []string{api.LabelZone, api.LabelZoneID, api.LabelCapacityType, api.LabelReservationID, api.LabelReservationType} {
		if value, ok := o.Label(key); ok {
			out = out.With(key, labelset.Only(value))
		}
	}
	return out
}

// openTo are the vacancies that such a pod may use by itself.
func (v *vacancies) openTo(t *cluster.Template) []*vacancy {
	if len(v.all) == 0 {
		return nil
	}
	out, known := v.open[t]
	if !known {
		needs, never := v.volumes.Needs(t, true)
		places, miss := match.Places(t, needs.Places)
		for i := range v.all {
			if one := &v.all[i]; !never.Missed() && !miss.Missed() && one.takes(t, places) {
				out = append(out, one)
			}
		}
		v.open[t] = out
	}
	return out
}

// takes reports whether such a pod fits on one of the machines, with nothing else there.
func (v *vacancy) takes(t *cluster.Template, places []match.Requirements) bool {
	if !t.Requests.Fits(v.room) || match.Untolerated(v.provisioner.Spec.Taints, t.Tolerations, false) != nil {
		return false
	}
	own := match.ForProvisioner(v.provisioner)
	return slices.ContainsFunc(places, func(place match.Requirements) bool {
		combined, miss := match.Combined(v.provisioner, own, place)
		_, bad := combined.And(v.labels).Unmeetable()
		return !miss.Missed() && !bad
	})
}

// relieved is the part of what a node's pods use that costs nothing more once they are in capacity reservations.
func (r *replacer) relieved(src *Source, prices *UnitPrices) (value offer.Price) {
	room := map[string]offer.Price{} // by reservation, of which several Provisioners may share one
	for _, m := range src.Moves {
		open := r.vacancies.openTo(m.Pod.Template)
		for _, v := range open {
			room[v.reservation] = prices.Value(v.room) * offer.Price(v.left)
		}
		if len(open) > 0 {
			value += prices.Value(m.Pod.Template.Requests)
		}
	}
	var most offer.Price
	for _, one := range room {
		most += one
	}
	return min(value, most)
}
