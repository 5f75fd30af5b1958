package assign

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// RemainingLimits is what limits still allow, by pool and resource; nil for a pool whose limits do
// not bind.
type RemainingLimits [][]int64

// Remaining returns what is left of the limits of each pool once its nodes and
// the machines planned so far are counted; nil for a pool whose limits do not bind.
func (a *Assignment) Remaining() RemainingLimits {
	out := make(RemainingLimits, len(a.Pools))
	for i, p := range a.Pools {
		if p.Limits == nil {
			continue
		}
		left := make([]int64, len(a.Space.Names))
		for k, name := range a.Space.Names {
			left[k] = model.Plenty
			if limit, ok := p.Limits[name]; ok {
				left[k] = limit - p.Has[name]
			}
		}
		out[i] = left
	}
	for _, m := range a.machines {
		out.Spend(&a.Offerings[m.Offering], 1)
	}
	return out
}

// Headroom returns what all limits of a pool leave once its nodes and the machines
// planned are counted, by resource. One that is exceeded already and that no machine
// adds to is at 0.
func (a *Assignment) Headroom(p *model.Pool) amount.List {
	if p.Most == nil {
		return nil
	}
	left := make(amount.List, len(p.Most))
	for name, limit := range p.Most {
		left[name] = limit - p.Has[name]
		planned := int64(0)
		for _, m := range a.machines {
			if m.Pool == p {
				planned += a.Counted(m.Offering, name)
			}
		}
		if left[name] -= planned; planned == 0 {
			left[name] = max(0, left[name])
		}
	}
	return left
}

// Affords returns how many machines of the offering may be bought, at most limit.
// A limit on a resource that the type does not have does not bind.
func (r RemainingLimits) Affords(o *model.Offering, limit int64) int64 {
	left := r[o.Pool]
	if left == nil {
		return limit
	}
	return amount.Copies(o.Capacity, left, limit)
}

// Allows reports whether one more machine of the offering may be bought.
func (r RemainingLimits) Allows(o *model.Offering) bool {
	left := r[o.Pool]
	return left == nil || model.Fits(o.Capacity, left)
}

// Spent reports whether no machine of the pool may be bought, whatever it is.
func (r RemainingLimits) Spent(p *model.Pool) bool {
	left := r[p.Number]
	return left != nil && !model.Fits(p.Least, left)
}

// Spend takes n machines of the offering off what is left.
func (r RemainingLimits) Spend(o *model.Offering, n int64) {
	if left := r[o.Pool]; left != nil {
		model.AddTimes(left, o.Capacity, -n)
	}
}

// Clone returns a copy that shares nothing.
func (r RemainingLimits) Clone() RemainingLimits {
	out := make(RemainingLimits, len(r))
	for i, left := range r {
		out[i] = append([]int64(nil), left...)
		if left == nil {
			out[i] = nil
		}
	}
	return out
}

// Limits are those that a solution has to keep, by Provisioner; nil for none. A problem
// is solved without any at first. Those that the result breaks constrain the next one,
// so that a limit which does not bind changes nothing.
type Limits []amount.List

// mostTightened bounds how many solutions may break limits: after so many all hold.
const mostTightened = 4

// Count returns how many limits there are.
func (l Limits) Count() (n int) {
	for _, known := range l {
		n += len(known)
	}
	return n
}

// Tighten adds the limits that a solution breaks, and reports whether there are any. Once it has added many, it adds
// those that the solution keeps, too.
func (l Limits) Tighten(a *Assignment) bool {
	times, some := 1+l.Count(), false
	for _, p := range a.Pools {
		left := a.Headroom(p)
		for name, v := range left {
			_, known := l[p.Number][name]
			if known || v >= 0 && times < mostTightened || offer.IsReservation(name) {
				continue
			}
			l.set(p, name, p.Most[name])
			some = some || v < 0
		}
	}
	return l.share(a, sharing{all: times >= mostTightened, some: some}) || some
}

func (l Limits) set(p *model.Pool, name string, most int64) {
	if l[p.Number] == nil {
		l[p.Number] = amount.List{}
	}
	l[p.Number][name] = most
}
