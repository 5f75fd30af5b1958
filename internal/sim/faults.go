package sim

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Capacity limits how many more machines an offering can serve.
func (w Faults) Capacity(instanceType, zone, capacityType string, machines int) {
	w.edit(func() { w.stock.Limit(instanceType, zone, capacityType, machines) })
}

// Quota limits how many more machines of a capacity type the account may have.
func (w Faults) Quota(capacityType string, machines int) {
	w.edit(func() { w.stock.Quota(capacityType, machines) })
}

// UnlimitedCapacity lifts all limits of Capacity and Quota.
func (w Faults) UnlimitedCapacity() { w.edit(w.stock.Unlimited) }

// EndReservation ends a capacity reservation. Its machines go on as on-demand machines.
func (w Faults) EndReservation(id string) {
	w.edit(func() {
		w.stock.EndReservation(id)
		for _, m := range w.machines {
			if m.Reservation == id {
				m.CapacityType, m.Reservation = api.CapacityOnDemand, ""
			}
		}
	})
}

// NeverBoots makes machines launched from now on never come up if the function
// says so; nil lets all come up.
func (w Faults) NeverBoots(f func(offer.Instance) bool) { w.edit(func() { w.neverBoots = f }) }

// BootsAs makes machines launched from now on register under the name that the
// function returns; empty means the right one. Nil ends it.
func (w Faults) BootsAs(f func(offer.Instance) string) { w.edit(func() { w.bootsAs = f }) }

// Named names machines launched from now on; empty means a new name. Nil ends it.
func (w Faults) Named(f func(offer.Instance) string) { w.edit(func() { w.named = f }) }

// PluginsAfter makes the device plugins of machines that boot from now on register the
// given time after their kubelets, or never where it is negative; nil makes them be
// there from the start.
func (w Faults) PluginsAfter(f func(offer.Instance) time.Duration) {
	w.edit(func() { w.pluginsAfter = f })
}

// LoseDevices ends the device plugins of a machine: its kubelet reports none of their
// devices any more.
func (w Faults) LoseDevices(id string) { w.kubelets().plug(id, false) }

// Shortfall makes kubelets of a type that come up from now on report less than its catalogue says.
func (w Faults) Shortfall(instanceType string, less amount.List) {
	w.edit(func() { w.shortfalls[instanceType] = less })
}

// TerminateInstance ends a machine behind everybody's back.
func (w Faults) TerminateInstance(id string) { w.edit(func() { w.terminate(id) }) }

// Untag takes the tags from a machine by which the cloud lists it; all of them, or so
// that they can be put back.
func (w Faults) Untag(id string, all bool) {
	w.edit(func() {
		if m := w.machines[id]; m != nil {
			m.untagged, m.forgotten = true, m.forgotten || all
		}
	})
}

// TagAll puts the tags of all machines back, as a person does.
func (w Faults) TagAll() {
	w.edit(func() {
		for _, m := range w.machines {
			m.untagged, m.forgotten = false, false
		}
	})
}

// Unlist keeps a machine out of the cloud's answers, or shows it again: EC2 may not list a new one
// for a while. An order to terminate it is answered as if it was gone.
func (w Faults) Unlist(id string, unlisted bool) {
	w.edit(func() { w.machines[id].unlisted = unlisted })
}

// StopKubelet silences a node's kubelet for a while: the node is not ready, and
// nothing is started or stopped there.
func (w Faults) StopKubelet(node string, d time.Duration) {
	w.edit(func() { w.kubelets().silence(node, true) })
	time.AfterFunc(d, func() { w.edit(func() { w.kubelets().silence(node, false) }) })
}
