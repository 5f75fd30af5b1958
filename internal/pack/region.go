package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Machines are in one zone each, and so are pods once they are spread over zones.
// Then what is bought in a zone does not matter to the others: each region of the
// market is a problem of its own.
// Pods that may be in any zone make it one region, and so does a limit that binds.

// regions splits the lots so that no column may be bought for lots of two of them, nor
// two columns that count against the same limit.
func (s *buyer) regions(lots []*lot, tier []*model.Pool, b budget) [][]*lot {
	masks := disjoint(lots)
	for _, p := range tier {
		if b[p.Number] != nil {
			masks = joined(masks, p.Mask)
		}
	}
	out := make([][]*lot, len(masks))
	for _, l := range lots {
		if i := slices.IndexFunc(masks, l.opt.Offerings.Meets); i >= 0 {
			out[i] = append(out[i], l)
		}
	}
	return out
}

// disjoint joins the sets of columns that the lots' requirements allow where they
// meet.
func disjoint(lots []*lot) []model.Bitset {
	var out []model.Bitset
	seen := map[int]bool{}
	for _, l := range lots {
		if seen[l.opt.ID] {
			continue
		}
		seen[l.opt.ID] = true
		out = joined(out, l.opt.Offerings)
	}
	return out
}

// joined adds a set to disjoint ones and joins it with those that it meets.
func joined(sets []model.Bitset, set model.Bitset) []model.Bitset {
	set = set.Clone()
	sets = slices.DeleteFunc(sets, func(other model.Bitset) bool {
		meets := other.Meets(set)
		if meets {
			set.Join(other)
		}
		return meets
	})
	return append(sets, set)
}
