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
	Need []int64
	Host []topology.PerNode
	Size float64
}

// Part is the share of one class in an item.
type Part struct {
	Class *Class
	Level Level
	N     int64
}

// With returns a pod group for the items of both.
func (l *PodGroup) With(o *PodGroup) *PodGroup {
	if l.Members == nil {
		pool := *l
		pool.Members = []*PodGroup{l}
		l = &pool
	}
	l.Members = append(l.Members, o)
	l.N += o.N
	return l
}

// Priority is that of the item's most important pod.
func (l *PodGroup) Priority() int32 {
	highest := l.Parts[0].Class.Template.Priority
	for _, p := range l.Parts[1:] {
		highest = max(highest, p.Class.Template.Priority)
	}
	return highest
}

// AppendKey appends what pod groups that may be pooled have in common.
func (l *PodGroup) AppendKey(key []byte) []byte {
	key = binary.AppendVarint(key, int64(l.Opt.ID))
	key = binary.AppendVarint(key, int64(l.Priority()))
	for _, v := range l.Need {
		key = binary.AppendVarint(key, v)
	}
	return key
}

// Book reserves the pods of all items.
func (l *PodGroup) Book() {
	for _, p := range l.Parts {
		p.Class.Booked += l.N * p.N
	}
}

// Limit notes that limits keep the classes from being bought for, if they do.
func (l *PodGroup) Limit(limited bool) {
	for _, p := range l.Parts {
		p.Class.Limited = p.Class.Limited || limited
	}
}

// Equal reports whether the items of both are of the same pods and in the same domains.
func (l *PodGroup) Equal(o *PodGroup) bool {
	return slices.Equal(l.Parts, o.Parts) && (l.At == nil) == (o.At == nil) && (l.At == nil || slices.Equal(l.At.Domains, o.At.Domains))
}

// only returns the pod group of single pods of one class that are bought for like the items.
func (l *PodGroup) only(c *Class, level Level) *PodGroup {
	return &PodGroup{Parts: []Part{{Class: c, Level: level, N: 1}}, Opt: l.Opt, At: l.At, Mask: l.Mask, Need: c.Need, Host: c.PerNode, Size: c.Size}
}

// Growing returns how many items of the pod group are pods of owners that grow.
func (l *PodGroup) Growing() int64 {
	if l.Members != nil {
		n := int64(0)
		for _, of := range l.Members {
			n += of.Growing()
		}
		return n
	}
	c := l.Parts[0].Class
	if len(l.Parts) > 1 || c.Growing == 0 {
		return 0
	}
	return l.N * c.Growing / int64(len(c.pods))
}

// GroupFor returns a pod group of the class, or false where no offering holds its pods.
func (s *Market) GroupFor(c *Class, level Level, o *model.Options) (*PodGroup, bool) {
	l := &PodGroup{Parts: []Part{{Class: c, Level: level, N: 1}}, Opt: o, Need: c.Need, Host: c.PerNode, Size: c.Size}
	if len(s.DaemonSets)+len(c.Follows()) == 0 {
		l.Mask = s.holding(c, o)
	} else {
		l.Mask = s.Fitting(c.Need, c.PerNode, c.AllowDevices, o)
		l.Lent = s.State.MindDaemons(l.Mask, c.Rules)
	}
	return l, !l.Mask.Empty()
}

// FittingItem returns the offerings that can hold an item of several pods, and on which DaemonSets put
// no pod that one of them must not meet.
func (s *Market) FittingItem(l *PodGroup, devices bool) model.Bitset {
	out := s.Fitting(l.Need, l.Host, devices, l.Opt)
	for _, p := range l.Parts {
		s.State.KeepFromDaemons(out, p.Class.Rules)
	}
	return out
}

// AsGuest returns the pod group of single pods as one that may also be on some special types, or nil
// where it fits none of them.
func (s *Market) AsGuest(l *PodGroup, special model.Bitset) *PodGroup {
	out := *l
	out.Plain, out.Mask = l, s.Fitting(l.Need, l.Host, true, l.Opt)
	s.State.MindDaemons(out.Mask, l.Parts[0].Class.Rules)
	if out.Mask.Keep(special); out.Mask.Empty() {
		return nil
	}
	out.Mask.Join(l.Mask)
	return &out
}

// Loosen lets a pool have as many items on a machine as its members can have together.
// Those that ask for the most of their company come first.
func (l *PodGroup) Loosen(index int) {
	most, none := int64(0), topology.NodeCounts{}
	for _, of := range l.Members {
		most += none.Room(of.Host, of.N)
	}
	l.Host = nil
	if most < l.N {
		l.Host = []topology.PerNode{{Group: -1 - index, Self: 1, Cap: most, Entry: topology.Unbounded}}
	}
	slices.SortStableFunc(l.Members, func(a, b *PodGroup) int { return cmp.Compare(b.demands(), a.demands()) })
}

// demands counts the groups of which the pod group stands only so many on its machines.
func (l *PodGroup) demands() int {
	n := 0
	for _, t := range l.Host {
		if t.Cap < topology.Unbounded {
			n += 2
		} else {
			n++
		}
	}
	return n
}
