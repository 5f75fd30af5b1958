package sim

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// left is how many machines may still be launched into a capacity reservation: what the
// options say less those that are in it; none once it has ended.
func left(w *world, id string) int64 {
	places := int64(0)
	for i := range w.options.Types {
		for _, o := range w.options.Types[i].Offerings {
			if o.Reservation == id && !w.ended[id] {
				places = o.Left
			}
		}
	}
	for _, m := range w.machines {
		if m.Reservation == id && m.State != offer.StateGone {
			places--
		}
	}
	return max(0, places)
}

// EndReservation ends a capacity reservation. Its machines go on as on-demand machines.
func (w Faults) EndReservation(id string) {
	w.edit(func() {
		w.ended[id] = true
		for _, m := range w.machines {
			if m.Reservation == id {
				m.CapacityType, m.Reservation = api.CapacityOnDemand, ""
			}
		}
	})
}
