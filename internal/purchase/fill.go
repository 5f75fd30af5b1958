package purchase

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// filler fills one machine at a time with items that are left, by their values.
type filler struct {
	*request
	balanced bool // fill so that the rest of a machine is best proportioned, rather than in the queue's order alone
	values   *values
	queue    []int   // pod groups with something left, in the order in which they are bought for
	left     []int64 // items of each pod group
	limits   assign.RemainingLimits

	taken    []int64 // items of each pod group on the machine that is being filled
	free     []int64 // of that machine, see freeOn
	balancer balancer
	spare    *assign.Machine // a machine that is not in use, to be filled next
}

func newFiller(r *request, balanced bool, v *values) *filler {
	return &filler{request: r, balanced: balanced, values: v, taken: make([]int64, len(r.asked)), free: make([]int64, len(r.Space.Names))}
}

// fill returns a machine of the offering that begins with an item of the seed; nil where none
// may be on it.
func (f *filler) fill(offering, seed int) *assign.Machine {
	m := f.machineOf(offering)
	clear(f.taken)
	if !f.take(m, seed, 1) {
		f.spare = m
		return nil
	}
	if f.balanced && f.Uses(assign.Balance) {
		f.balance(m)
	}
	f.fillUp(m)
	if f.Uses(assign.Exchange) {
		f.exchangeAll(m, seed)
	}
	return m
}

// fillUp adds as many items as fit, of the first pod groups first.
func (f *filler) fillUp(m *assign.Machine) {
	free := f.freeOn(m)
	for _, i := range f.queue {
		if !model.Fits(f.asked[i].Need, free) || !f.take(m, i, f.left[i]) {
			continue
		}
		if f.full(m) {
			return
		}
		f.freeOn(m)
	}
}

// freeOn returns what is left of the machine's room. It holds until it is called again.
func (f *filler) freeOn(m *assign.Machine) []int64 {
	for r, room := range f.Offerings[m.Offering].Room {
		f.free[r] = room - m.Used[r]
	}
	return f.free
}

// machineOf returns an empty machine of the offering.
func (f *filler) machineOf(offering int) *assign.Machine {
	m := f.spare
	if f.spare = nil; m == nil {
		return f.NewMachine(offering)
	}
	f.Reset(m, offering)
	return m
}

// take adds items of a pod group to the machine, as many as fit, at most n.
func (f *filler) take(m *assign.Machine, i int, n int64) bool {
	n = min(n, f.left[i]-f.taken[i])
	if n <= 0 {
		return false
	}
	k := f.AddUpTo(m, f.asked[i], n)
	f.taken[i] += k
	return k > 0
}

// full reports whether not even the least need of every pod group fits any more.
func (f *filler) full(m *assign.Machine) bool {
	for r, room := range f.Offerings[m.Offering].Room {
		if least := f.values.least[r]; least > 0 && least > room-m.Used[r] {
			return true
		}
	}
	return false
}
