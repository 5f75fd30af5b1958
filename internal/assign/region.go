package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Machines are in one zone each, and so are pods once they are spread over zones.
// Then what is bought in a zone does not matter to the others: each region of the
// market is a problem of its own. So are pods that must not share a machine with any others.
// Pods that may be in any zone make it one region, and so does a limit that binds.

// Regions splits the pod groups so that no offering may be bought for pod groups of two of them, nor
// two offerings that count against the same limit, unless no pods of both may share a machine.
func Regions(groups []*PodGroup, tier []*model.Pool, limits RemainingLimits) [][]*PodGroup {
	masks, limited := disjoint(groups), []model.Bitset(nil)
	for _, p := range tier {
		if limits[p.Number] != nil {
			masks = joined(masks, p.Mask)
			limited = append(limited, p.Mask)
		}
	}
	split := make([][]*PodGroup, len(masks))
	regionOf := map[int]int{} // by what the pod groups may use
	for _, g := range groups {
		i, known := regionOf[g.Opt.ID]
		if !known {
			i = slices.IndexFunc(masks, g.Opt.Offerings.Meets)
			regionOf[g.Opt.ID] = i
		}
		if i >= 0 {
			split[i] = append(split[i], g)
		}
	}
	var out [][]*PodGroup
	for i, groups := range split {
		if slices.ContainsFunc(limited, masks[i].Meets) {
			out = append(out, groups)
		} else {
			out = append(out, apart(groups)...)
		}
	}
	return out
}

// disjoint joins the sets of offerings that the pod groups' requirements allow where they
// meet.
func disjoint(groups []*PodGroup) []model.Bitset {
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

// mostApart bounds the pod groups that are compared with each other: the work grows with the square of their number.
const mostApart = 2000

// apart splits the pod groups so that no pods of two parts may share a machine. Within a part, each may
// with some other. The order of the pod groups stays.
func apart(groups []*PodGroup) [][]*PodGroup {
	if len(groups) > mostApart {
		return [][]*PodGroup{groups}
	}
	part, rest, parts := make([]int, len(groups)), make([]int, len(groups)), 0
	for i := range rest {
		rest[i] = i
	}
	for ; len(rest) > 0; parts++ {
		reached := []int{rest[0]}
		rest = rest[1:]
		for len(reached) > 0 {
			of := reached[0]
			part[of], reached = parts, reached[1:]
			rest = slices.DeleteFunc(rest, func(i int) bool {
				share := mayShare(groups[of].PerNode, groups[i].PerNode)
				if share {
					reached = append(reached, i)
				}
				return share
			})
		}
	}
	out := make([][]*PodGroup, parts)
	for i, g := range groups {
		out[part[i]] = append(out[part[i]], g)
	}
	return out
}

// mayShare reports whether what each tolerates on its machine allows an item of each on one. Both lists are
// sorted by group, and nothing is made of them: tenants that keep apart have long ones, and many pairs.
func mayShare(a, b []topology.PerNode) bool {
	for len(a) > 0 && len(b) > 0 {
		switch x, y := &a[0], &b[0]; {
		case x.Group < y.Group:
			a = a[1:]
		case x.Group > y.Group:
			b = b[1:]
		case x.Self+y.Self > min(x.Cap, y.Cap):
			return false
		default:
			a, b = a[1:], b[1:]
		}
	}
	return true
}
