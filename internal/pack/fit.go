package pack

import (
	"encoding/binary"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// fitting returns the columns of the options that hold a load. Special types are
// left out unless they were asked for or nothing else fits.
func (s *Market) fitting(need []int64, host []topology.PerNode, devices bool, o *model.Options) model.Bitset {
	s.Effort.Spend(len(s.Offerings) / 4)
	all := o.Offerings.Clone()
	s.keepRoomy(all, need)
	s.keepAble(all, host, o)
	if devices || o.Special || s.Special.Empty() {
		return all
	}
	plain := all.Clone()
	plain.Remove(s.Special)
	if plain.Empty() {
		return all
	}
	return plain
}

// lookAtMost is how many classes a look at all columns is the quicker way for, rather
// than finding out beforehand which of them have how much.
const lookAtMost = 12

// keepRoomy removes columns that do not have as much room as is needed.
func (s *Market) keepRoomy(columns model.Bitset, need []int64) {
	if s.few {
		for k := range columns.All {
			if !model.Fits(need, s.Offerings[k].Room) {
				columns.Drop(k)
			}
		}
		return
	}
	for r, n := range need {
		if n > 0 {
			columns.Keep(s.rooms(r).atLeast(n))
		}
	}
}

// keepAble removes columns where a load may not be for other reasons than room.
func (s *Market) keepAble(columns model.Bitset, host []topology.PerNode, o *model.Options) {
	if len(host) > 0 && len(s.DaemonSets) > 0 {
		for k := range columns.All {
			if s.state.DaemonCounts(&s.Offerings[k]).Room(host, 1) <= 0 {
				columns.Drop(k)
			}
		}
	}
	for _, p := range s.Selling {
		if residual := o.Residual[p.Number]; s.Choices[residual] {
			for k := range columns.Within(p.Offerings) {
				if !s.LeavesChoice(residual, &s.Offerings[k]) {
					columns.Drop(k)
				}
			}
		}
	}
}

// rooms finds the columns that have so much of a resource.
type rooms struct {
	amounts []int64        // that columns have, ascending
	columns []model.Bitset // those with at least as much
}

// rooms returns those of a resource, made once.
func (s *Market) rooms(r int) *rooms {
	if s.byRoom == nil {
		s.byRoom = make([]*rooms, len(s.Space.Names))
	}
	if s.byRoom[r] == nil {
		s.byRoom[r] = s.newRooms(r)
	}
	return s.byRoom[r]
}

func (s *Market) newRooms(r int) *rooms {
	out := &rooms{}
	for _, c := range s.Shapes {
		out.amounts = append(out.amounts, c.Room[r])
	}
	slices.Sort(out.amounts)
	out.amounts = slices.Compact(out.amounts)
	at := make([]int, len(s.Shapes))
	for i, c := range s.Shapes {
		at[i], _ = slices.BinarySearch(out.amounts, c.Room[r])
	}
	out.columns = make([]model.Bitset, len(out.amounts))
	for i := range out.columns {
		out.columns[i] = model.NewBitset(len(s.Offerings))
	}
	for k := range s.Offerings {
		out.columns[at[s.Offerings[k].Number]].Add(k)
	}
	for i := len(out.columns) - 2; i >= 0; i-- {
		out.columns[i].Join(out.columns[i+1])
	}
	return out
}

// atLeast returns the columns with at least so much.
func (r *rooms) atLeast(n int64) model.Bitset {
	i, _ := slices.BinarySearch(r.amounts, n)
	if i == len(r.columns) {
		return nil
	}
	return r.columns[i]
}

// holding returns the columns of the options that hold a pod of the class, where
// there are no DaemonSets; pods of other classes that need the same share it.
func (s *Market) holding(c *class, o *model.Options) model.Bitset {
	key := binary.AppendVarint(s.key[:0], int64(o.ID))
	for _, v := range c.Need {
		key = binary.AppendVarint(key, v)
	}
	if c.devices {
		key = append(key, 1)
	}
	s.key = key
	mask, ok := s.held[string(key)]
	if !ok {
		mask = s.fitting(c.Need, nil, c.devices, o)
		s.held[string(key)] = mask
	}
	return mask
}
