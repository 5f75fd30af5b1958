package pack

import (
	"encoding/binary"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// lot is a number of equal loads that machines are to be bought for, under the
// same requirements. A load is one pod, or several that must share a node.
type lot struct {
	parts  []part
	opt    *model.Options       // with the domain that was chosen, if any
	at     *topology.Assignment // that domain, or nil
	n      int64                // loads left to buy for
	mask   model.Bitset         // columns that allow and hold a load
	lent   []int                // groups counted by domain of which a DaemonSet puts a pod on all of them
	index  int                  // within the cover that is being made
	choice int                  // how many columns its requirements allow
	worth  float64              // of a load, where a mix of machines was looked for
	// members are the lots that this one pools; none where it is one itself.
	members []*lot

	// Of one load:
	need []int64
	host []topology.PerNode
	size float64
}

// part is the share of one class in a load.
type part struct {
	class *class
	level level
	n     int64
}

// fill puts as many pods of the class as possible onto nodes that exist.
func (s *solver) fill(c *class, o *model.Options, level level) {
	for i, n := range s.nodes {
		if c.open() == 0 {
			return
		}
		if k := s.roomOn(c, o, i, c.open()); k > 0 {
			s.put(c, n, level, k)
		}
	}
}

// roomOn returns how many pods of the class the node can take, at most limit.
func (s *solver) roomOn(c *class, o *model.Options, i int, limit int64) int64 {
	if !s.state.Reaches(c.Rules, s.nodes[i].NodeView, false) {
		return 0
	}
	return s.roomAlone(c, o, i, limit)
}

// roomAlone is roomOn without regard to the pods that the class must share a
// node with.
func (s *solver) roomAlone(c *class, o *model.Options, i int, limit int64) int64 {
	n := s.nodes[i]
	s.Effort.Spend(model.StepsToMatch + len(c.PerNode))
	k := amount.Copies(c.Need, n.free, limit)
	if k == 0 || !s.Matches(o, i) {
		return 0
	}
	return n.Counts.Room(c.PerNode, k)
}

// put places k pods on a node.
func (s *solver) put(c *class, n *node, level level, k int64) {
	model.AddTimes(n.free, c.Need, -k)
	n.Counts = n.Counts.Plus(c.PerNode, k)
	given := c.GivenUp(level.relaxed)
	if !n.HostLess() {
		s.state.Join(c.Rules, k)
	}
	pods := slices.Clone(c.take(k))
	s.onNodes = append(s.onNodes, nodePlacement{placement{class: c, level: level, n: k}, n, pods})
	for _, pod := range pods {
		s.places[pod] = Place{Node: n.Name, Machine: -1, GivenUp: given}
	}
}

// open returns how many pods have neither a place nor a lot, and may have one.
func (c *class) open() int64 { return c.left - c.booked - c.held }

// take removes k pods from those that have no place yet.
func (c *class) take(k int64) []int {
	out := c.pods[int64(len(c.pods))-c.left:][:k]
	c.left -= k
	return out
}

// lotFor returns a lot of the class, or false where no column holds its pods.
func (s *solver) lotFor(c *class, level level, o *model.Options) (*lot, bool) {
	l := &lot{parts: []part{{class: c, level: level, n: 1}}, opt: o, need: c.Need, host: c.PerNode, size: c.size}
	if len(s.DaemonSets)+len(c.Follows()) == 0 {
		l.mask = s.holding(c, o)
	} else {
		l.mask = s.fitting(c.Need, c.PerNode, c.devices, o)
		l.lent = s.state.MindDaemons(l.mask, c.Rules)
	}
	return l, !l.mask.Empty()
}

// holding returns the columns of the options that hold a pod of the class, where
// there are no DaemonSets; pods of other classes that need the same share it.
func (s *solver) holding(c *class, o *model.Options) model.Bitset {
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

// place finds places for the pods of a class at a level: on nodes that exist,
// or else in lots to be bought.
func (s *solver) place(c *class, level level) []*lot {
	o, ok := s.optionsAt(c, level)
	if !ok {
		return nil
	}
	if len(c.Keys) > 0 {
		return s.placeByDomain(c, o, level)
	}
	s.fill(c, o, level)
	if c.open() == 0 {
		return nil
	}
	l, ok := s.lotFor(c, level, o)
	if !ok {
		return nil
	}
	l.n = c.open()
	c.booked += l.n
	return []*lot{l}
}
