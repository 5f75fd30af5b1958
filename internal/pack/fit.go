package pack

import "slices"

// fitting returns the columns of the options that hold a load. Special types are
// left out unless they were asked for or nothing else fits.
func (s *solver) fitting(need []int64, host []touch, devices bool, o *options) bitset {
	s.effort.spend(len(s.columns) / 4)
	all := o.columns.clone()
	s.keepRoomy(all, need)
	s.keepAble(all, host, o)
	if devices || o.special || s.special.empty() {
		return all
	}
	plain := all.clone()
	plain.remove(s.special)
	if plain.empty() {
		return all
	}
	return plain
}

// lookAtMost is how many classes a look at all columns is the quicker way for, rather
// than finding out beforehand which of them have how much.
const lookAtMost = 12

// keepRoomy removes columns that do not have as much room as is needed.
func (s *solver) keepRoomy(columns bitset, need []int64) {
	if len(s.classes) <= lookAtMost {
		for k := range columns.all {
			if !fits(need, s.columns[k].room) {
				columns.drop(k)
			}
		}
		return
	}
	for r, n := range need {
		if n > 0 {
			columns.keep(s.rooms(r).atLeast(n))
		}
	}
}

// keepAble removes columns where a load may not be for other reasons than room.
func (s *solver) keepAble(columns bitset, host []touch, o *options) {
	if len(host) > 0 && len(s.daemons) > 0 {
		for k := range columns.all {
			if s.daemonHost(&s.columns[k]).room(host, 1) <= 0 {
				columns.drop(k)
			}
		}
	}
	for _, p := range s.sellers {
		if residual := o.residual[p.index]; s.choices[residual] {
			for k := range columns.within(p.columns) {
				if !s.leavesChoice(residual, &s.columns[k]) {
					columns.drop(k)
				}
			}
		}
	}
}

// rooms finds the columns that have so much of a resource.
type rooms struct {
	amounts []int64  // that columns have, ascending
	columns []bitset // those with at least as much
}

// rooms returns those of a resource, made once.
func (s *solver) rooms(r int) *rooms {
	if s.byRoom == nil {
		s.byRoom = make([]*rooms, len(s.space.names))
	}
	if s.byRoom[r] == nil {
		s.byRoom[r] = s.newRooms(r)
	}
	return s.byRoom[r]
}

func (s *solver) newRooms(r int) *rooms {
	out := &rooms{}
	for _, c := range s.shapes {
		out.amounts = append(out.amounts, c.room[r])
	}
	slices.Sort(out.amounts)
	out.amounts = slices.Compact(out.amounts)
	at := make([]int, len(s.shapes))
	for i, c := range s.shapes {
		at[i], _ = slices.BinarySearch(out.amounts, c.room[r])
	}
	out.columns = make([]bitset, len(out.amounts))
	for i := range out.columns {
		out.columns[i] = newBitset(len(s.columns))
	}
	for k := range s.columns {
		out.columns[at[s.columns[k].number]].add(k)
	}
	for i := len(out.columns) - 2; i >= 0; i-- {
		out.columns[i].join(out.columns[i+1])
	}
	return out
}

// atLeast returns the columns with at least so much.
func (r *rooms) atLeast(n int64) bitset {
	i, _ := slices.BinarySearch(r.amounts, n)
	if i == len(r.columns) {
		return nil
	}
	return r.columns[i]
}
