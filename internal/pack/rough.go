package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Where pods are counted on nodes by what they are labelled with, every class has a lot
// of its own, and there are too many to look for a mix of machines. Nearly all of them
// may be together all the same. So what needs the same is bought for as one at first,
// and who goes onto which machine is settled then; for those that are left over, because
// they may not be where there is room, machines are bought by the lot.

// rough returns lots that pool those which are alike but for whom they may share a
// machine with: where there are too many for a mix.
func rough(lots []*lot) []*lot {
	if len(lots) <= mixAtMost {
		return lots
	}
	var out []*lot
	known := map[string]*lot{}
	var key []byte
	for _, l := range lots {
		if len(l.parts) > 1 || l.n == 0 {
			out = append(out, l)
			continue
		}
		key = l.appendKey(key[:0])
		pool := known[string(key)]
		if pool == nil || !slices.Equal(pool.mask, l.mask) {
			of := *l
			pool = &of
			pool.n, pool.members = 0, nil
			known[string(key)] = pool
			out = append(out, pool)
		}
		pool.members = append(pool.members, l)
		pool.n += l.n
	}
	for i, l := range out {
		if len(l.parts) == 1 {
			l.loosen(i)
		}
	}
	return out
}

// loosen lets a pool have as many loads on a machine as its members can have together.
// Those that ask for the most of their company come first.
func (l *lot) loosen(index int) {
	most, none := int64(0), topology.NodeCounts{}
	for _, of := range l.members {
		most += none.Room(of.host, of.n)
	}
	l.host = nil
	if most < l.n {
		l.host = []topology.PerNode{{Group: -1 - index, Self: 1, Cap: most, Entry: topology.Unbounded}}
	}
	slices.SortStableFunc(l.members, func(a, b *lot) int { return cmp.Compare(b.demands(), a.demands()) })
}

// demands counts the groups of which the lot stands only so many on its machines.
func (l *lot) demands() int {
	n := 0
	for _, t := range l.host {
		if t.Cap < topology.Unbounded {
			n += 2
		} else {
			n++
		}
	}
	return n
}

// buyRoughly buys machines for pools of lots, as far as these may be together on them.
// What room is left for want of company is for any of the lots, or not bought. The
// effort is in proportion to the pods where there are very many.
func (s *purchaser) buyRoughly(pools, lots []*lot, tier []*model.Pool) {
	before := len(s.machines)
	if !s.buying.enlarged { // by the first of several tiers and rounds
		s.buying.enlarged = true
		enough := defaultTrials(len(s.places)) / makingShare
		s.buying.trials = s.buying.trials * max(enough, len(s.places)) / enough
	}
	for _, c := range s.buying.covers(pools, tier, s.budgets()) {
		for _, m := range c.bought {
			if m = s.settle(m); len(m.items) > 0 {
				s.machines = append(s.machines, m)
			}
		}
	}
	for _, l := range lots {
		s.topUp(l)
	}
	left := s.budgets()
	for _, m := range s.machines[before:] {
		left.spend(&s.Offerings[m.column], -1)
		s.shrink(m, func(col *model.Offering) bool { return left.affords(col, 1) > 0 })
		left.spend(&s.Offerings[m.column], 1)
	}
}

// settle returns a machine with the loads of those that a rough one's pools stand for,
// as far as they may be together.
func (s *purchaser) settle(of *machine) *machine {
	m := s.newMachine(of.column)
	for _, it := range of.items {
		s.settleItem(m, it.lot, it.n)
	}
	return m
}

func (s *purchaser) settleItem(m *machine, l *lot, n int64) {
	if len(l.parts) > 1 {
		s.board(m, l, n)
		return
	}
	for _, of := range l.members {
		if n == 0 {
			return
		}
		n -= s.board(m, of, min(n, of.n))
	}
}

// board puts at most n loads of the lot onto the machine, and returns how many.
func (s *purchaser) board(m *machine, l *lot, n int64) int64 {
	if n == 0 {
		return 0
	}
	k, residual := s.admit(m, l, n)
	if k > 0 {
		m.add(l, k, residual)
		s.hand(m, l, k)
	}
	return k
}
