package pack

import (
	"encoding/binary"
	"slices"

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

// with returns a lot for the loads of both.
func (l *lot) with(o *lot) *lot {
	if l.members == nil {
		pool := *l
		pool.members = []*lot{l}
		l = &pool
	}
	l.members = append(l.members, o)
	l.n += o.n
	return l
}

// priority is that of the load's most important pod.
func (l *lot) priority() int32 {
	highest := l.parts[0].class.Template.Priority
	for _, p := range l.parts[1:] {
		highest = max(highest, p.class.Template.Priority)
	}
	return highest
}

// appendKey appends what lots that may be pooled have in common.
func (l *lot) appendKey(key []byte) []byte {
	key = binary.AppendVarint(key, int64(l.opt.ID))
	key = binary.AppendVarint(key, int64(l.priority()))
	for _, v := range l.need {
		key = binary.AppendVarint(key, v)
	}
	return key
}

// book reserves the pods of all loads.
func (l *lot) book() {
	for _, p := range l.parts {
		p.class.booked += l.n * p.n
	}
}

// limit notes that limits keep the classes from being bought for, if they do.
func (l *lot) limit(limited bool) {
	for _, p := range l.parts {
		p.class.limited = p.class.limited || limited
	}
}

func (l *lot) equal(o *lot) bool {
	return slices.Equal(l.parts, o.parts) && (l.at == nil) == (o.at == nil) && (l.at == nil || slices.Equal(l.at.Domains, o.at.Domains))
}

// only returns the lot of single pods of one class that are bought for like the loads.
func (l *lot) only(c *class, level level) *lot {
	return &lot{parts: []part{{class: c, level: level, n: 1}}, opt: l.opt, at: l.at, mask: l.mask, need: c.Need, host: c.PerNode, size: c.size}
}

// growing returns how many loads of the lot are pods of owners that grow.
func (l *lot) growing() int64 {
	if l.members != nil {
		n := int64(0)
		for _, of := range l.members {
			n += of.growing()
		}
		return n
	}
	c := l.parts[0].class
	if len(l.parts) > 1 || c.Growing == 0 {
		return 0
	}
	return l.n * c.Growing / int64(len(c.pods))
}

// lotFor returns a lot of the class, or false where no column holds its pods.
func (s *Assignment) lotFor(c *class, level level, o *model.Options) (*lot, bool) {
	l := &lot{parts: []part{{class: c, level: level, n: 1}}, opt: o, need: c.Need, host: c.PerNode, size: c.size}
	if len(s.DaemonSets)+len(c.Follows()) == 0 {
		l.mask = s.holding(c, o)
	} else {
		l.mask = s.fitting(c.Need, c.PerNode, c.devices, o)
		l.lent = s.state.MindDaemons(l.mask, c.Rules)
	}
	return l, !l.mask.Empty()
}
