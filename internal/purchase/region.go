package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Machines are in one zone each, and so are pods once they are spread over zones.
// Then what is bought in a zone does not matter to the others: each region of the
// market is a problem of its own.
// Pods that may be in any zone make it one region, and so does a limit that binds.

// regions splits the pod groups so that no offering may be bought for pod groups of two of them, nor
// two offerings that count against the same limit.
func (by *buyer) regions(groups []*assign.PodGroup, tier []*model.Pool, limits assign.RemainingLimits) [][]*assign.PodGroup {
	masks := disjoint(groups)
	for _, p := range tier {
		if limits[p.Number] != nil {
			masks = joined(masks, p.Mask)
		}
	}
	out := make([][]*assign.PodGroup, len(masks))
	regionOf := map[int]int{} // by what the pod groups may use
	for _, g := range groups {
		i, known := regionOf[g.Opt.ID]
		if !known {
			i = slices.IndexFunc(masks, g.Opt.Offerings.Meets)
			regionOf[g.Opt.ID] = i
		}
		if i >= 0 {
			out[i] = append(out[i], g)
		}
	}
	return out
}

// disjoint joins the sets of offerings that the pod groups' requirements allow where they
// meet.
func disjoint(groups []*assign.PodGroup) []model.Bitset {
	var out []model.Bitset
	seen := map[int]bool{}
	for _, g := range groups {
		if seen[g.Opt.ID] {
			continue
		}
		seen[g.Opt.ID] = true
		out = joined(out, g.Opt.Offerings)
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
