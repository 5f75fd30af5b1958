package assign

import (
	"encoding/binary"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Fitting returns the offerings of the options that hold an item. Special types are
// left out unless they were asked for or nothing else fits.
func (mk *Market) Fitting(need []int64, perNode []topology.PerNode, devices bool, o *model.Options) model.Bitset {
	mk.Effort.Spend(len(mk.Offerings) / 64) // offerings are words of bits
	if mk.few {
		mk.Effort.Spend(o.Offerings.Count() / 4) // each is looked at, see KeepRoomy
	}
	all := o.Offerings.Clone()
	mk.KeepRoomy(all, need)
	mk.KeepAble(all, perNode, o)
	if !devices && !o.Special && !all.SubsetOf(mk.Special) {
		all.Remove(mk.Special)
	}
	return all
}

// lookAtMost is for how many classes it is quicker to look at all offerings than to find out in
// advance which of them have how much.
const lookAtMost = 12

// KeepRoomy removes offerings that do not have as much room as is needed.
func (mk *Market) KeepRoomy(offerings model.Bitset, need []int64) {
	if mk.few {
		for k := range offerings.All {
			if !model.Fits(need, mk.Offerings[k].Room) {
				offerings.Drop(k)
			}
		}
		return
	}
	for r, n := range need {
		if n > 0 {
			offerings.Keep(mk.rooms(r).atLeast(n))
		}
	}
}

// KeepAble removes offerings where an item may not be for other reasons than room.
func (mk *Market) KeepAble(offerings model.Bitset, perNode []topology.PerNode, o *model.Options) {
	if len(perNode) > 0 && len(mk.DaemonSets) > 0 {
		mk.State.KeepBesideDaemons(offerings, perNode)
	}
	for _, p := range mk.Selling {
		if residual := o.Residual[p.Number]; mk.Choices[residual] {
			for k := range offerings.Within(p.Offerings) {
				if !mk.LeavesChoice(residual, &mk.Offerings[k]) {
					offerings.Drop(k)
				}
			}
		}
	}
}

// rooms finds the offerings that have so much of a resource.
type rooms struct {
	amounts   []int64        // that offerings have, ascending
	offerings []model.Bitset // those with at least as much
}

// rooms returns those of a resource, made once.
func (mk *Market) rooms(r int) *rooms {
	if mk.byRoom[r] == nil {
		mk.byRoom[r] = mk.newRooms(r)
	}
	return mk.byRoom[r]
}

func (mk *Market) newRooms(r int) *rooms {
	out := &rooms{}
	for _, c := range mk.Shapes {
		out.amounts = append(out.amounts, c.Room[r])
	}
	slices.Sort(out.amounts)
	out.amounts = slices.Compact(out.amounts)
	at := make([]int, len(mk.Shapes))
	for i, c := range mk.Shapes {
		at[i], _ = slices.BinarySearch(out.amounts, c.Room[r])
	}
	out.offerings = make([]model.Bitset, len(out.amounts))
	for i := range out.offerings {
		out.offerings[i] = model.NewBitset(len(mk.Offerings))
	}
	for k := range mk.Offerings {
		out.offerings[at[mk.Offerings[k].Number]].Add(k)
	}
	for i := len(out.offerings) - 2; i >= 0; i-- {
		out.offerings[i].Join(out.offerings[i+1])
	}
	return out
}

// atLeast returns the offerings with at least so much.
func (r *rooms) atLeast(n int64) model.Bitset {
	i, _ := slices.BinarySearch(r.amounts, n)
	if i == len(r.offerings) {
		return nil
	}
	return r.offerings[i]
}

// holding returns the offerings of the options that hold a pod of the class, where
// there are no DaemonSets; pods of other classes that need the same share it.
func (mk *Market) holding(c *Class, o *model.Options) model.Bitset {
	key := binary.AppendVarint(mk.Key[:0], int64(o.ID))
	for _, v := range c.Need {
		key = binary.AppendVarint(key, v)
	}
	if c.AllowDevices {
		key = append(key, 1)
	}
	mk.Key = key
	mask, ok := mk.held[string(key)]
	if !ok {
		mask = mk.Fitting(c.Need, nil, c.AllowDevices, o)
		mk.held[string(key)] = mask
	}
	return mask
}
