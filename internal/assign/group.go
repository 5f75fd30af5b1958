package assign

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// PodGroup is a number of equal items that machines are to be bought for, under the
// same requirements. An item is one pod, or several that must share a node.
type PodGroup struct {
	Parts []Part
	Opt   *model.Options             // with the domain that was chosen, if any
	At    *topology.DomainAssignment // that domain, or nil
	N     int64                      // items left to buy for
	Mask  model.Bitset               // offerings that allow and hold an item
	Lent  []int                      // groups counted by domain of which a DaemonSet puts a pod on all of them
	Index int                        // in the newest request of internal/purchase, and not valid for an older one
	// Plain is the pod group of the same items on plain types alone, if this one may also be a guest on
	// special types beside items that need them.
	Plain *PodGroup
	// Members are the pod groups that this one pools; none where it is one itself.
	Members []*PodGroup

	// Of one item:
	Need    []int64
	PerNode []topology.PerNode
	Size    float64
}

// Part is the share of one class in an item.
type Part struct {
	Class *Class
	Level Level
	N     int64
}

// With returns a pod group for the items of both.
func (g *PodGroup) With(o *PodGroup) *PodGroup {
	if g.Members == nil {
		pool := *g
		pool.Members = []*PodGroup{g}
		g = &pool
	}
	g.Members = append(g.Members, o)
	g.N += o.N
	return g
}

// Priority is that of the item's most important pod.
func (g *PodGroup) Priority() int32 {
	highest := g.Parts[0].Class.Template.Priority
	for _, p := range g.Parts[1:] {
		highest = max(highest, p.Class.Template.Priority)
	}
	return highest
}

// AppendKey appends what pod groups that may be pooled have in common.
func (g *PodGroup) AppendKey(key []byte) []byte {
	key = binary.AppendVarint(key, int64(g.Opt.ID))
	key = binary.AppendVarint(key, int64(g.Priority()))
	for _, v := range g.Need {
		key = binary.AppendVarint(key, v)
	}
	return key
}

// Book reserves the pods of all items.
func (g *PodGroup) Book() {
	for _, p := range g.Parts {
		p.Class.Booked += g.N * p.N
	}
}

// Limit notes that limits keep the classes from being bought for, if they do.
func (g *PodGroup) Limit(limited bool) {
	for _, p := range g.Parts {
		p.Class.Limited = p.Class.Limited || limited
	}
}

// Equal reports whether the items of both are of the same pods and in the same domains.
func (g *PodGroup) Equal(o *PodGroup) bool {
	return slices.Equal(g.Parts, o.Parts) && (g.At == nil) == (o.At == nil) && (g.At == nil || slices.Equal(g.At.Domains, o.At.Domains))
}

// only returns the pod group of single pods of one class that are bought for like the items.
func (g *PodGroup) only(c *Class, level Level) *PodGroup {
	return &PodGroup{Parts: []Part{{Class: c, Level: level, N: 1}}, Opt: g.Opt, At: g.At, Mask: g.Mask, Need: c.Need, PerNode: c.PerNode, Size: c.Size}
}

// Growing returns how many items of the pod group are pods of owners that grow.
func (g *PodGroup) Growing() int64 {
	if g.Members != nil {
		n := int64(0)
		for _, of := range g.Members {
			n += of.Growing()
		}
		return n
	}
	c := g.Parts[0].Class
	if len(g.Parts) > 1 || c.Growing == 0 {
		return 0
	}
	return g.N * c.Growing / int64(len(c.pods))
}

// GroupFor returns a pod group of the class, or false where no offering holds its pods.
func (mk *Market) GroupFor(c *Class, level Level, o *model.Options) (*PodGroup, bool) {
	g := &PodGroup{Parts: []Part{{Class: c, Level: level, N: 1}}, Opt: o, Need: c.Need, PerNode: c.PerNode, Size: c.Size}
	if len(mk.DaemonSets)+len(c.Follows()) == 0 {
		g.Mask = mk.holding(c, o)
	} else {
		g.Mask = mk.Fitting(c.Need, c.PerNode, c.AllowDevices, o)
		g.Lent = mk.State.RespectDaemons(g.Mask, c.Rules)
	}
	return g, !g.Mask.Empty()
}

// FittingItem returns the offerings that can hold an item of several pods, and on which DaemonSets put
// no pod that one of them must not meet.
func (mk *Market) FittingItem(g *PodGroup, devices bool) model.Bitset {
	out := mk.Fitting(g.Need, g.PerNode, devices, g.Opt)
	for _, p := range g.Parts {
		mk.State.KeepFromDaemons(out, p.Class.Rules)
	}
	return out
}

// AsGuest returns the pod group of single pods as one that may also be on some special types, or nil
// where it fits none of them.
func (mk *Market) AsGuest(g *PodGroup, special model.Bitset) *PodGroup {
	out := *g
	out.Plain, out.Mask = g, mk.Fitting(g.Need, g.PerNode, true, g.Opt)
	mk.State.RespectDaemons(out.Mask, g.Parts[0].Class.Rules)
	if out.Mask.Keep(special); out.Mask.Empty() {
		return nil
	}
	out.Mask.Join(g.Mask)
	return &out
}

// Loosen lets a pool have as many items on a machine as its members can have together. Those
// that tolerate the fewest other pods come first.
func (g *PodGroup) Loosen(index int) {
	most, none := int64(0), topology.NodeCounts{}
	for _, of := range g.Members {
		most += none.Room(of.PerNode, of.N)
	}
	g.PerNode = nil
	if most < g.N {
		g.PerNode = []topology.PerNode{{Group: -1 - index, Self: 1, Cap: most, Entry: topology.NoCap}}
	}
	slices.SortStableFunc(g.Members, func(a, b *PodGroup) int { return cmp.Compare(b.demands(), a.demands()) })
}

// demands counts the groups of which the pod group tolerates only so many pods on its machines.
func (g *PodGroup) demands() int {
	n := 0
	for _, t := range g.PerNode {
		if t.Cap < topology.NoCap {
			n += 2
		} else {
			n++
		}
	}
	return n
}
