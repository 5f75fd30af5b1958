package place

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// fillEvenly fills nodes that exist with pods of the classes so that no resource is
// left over for want of another: where there are more pods than the nodes can hold,
// what they hold is not bought for. The rest of the room is left to fill.
func (s *Placer) fillEvenly(open []*assign.Class) {
	var plain []*assign.Class
	for _, c := range open {
		if c.Open() > 0 && len(c.Keys)+len(c.Follows())+len(c.Nodes) == 0 {
			plain = append(plain, c)
		}
	}
	if !s.Uses(assign.EvenNodes) || len(plain) < 2 || plain[0].Template.Priority != plain[len(plain)-1].Template.Priority || !s.exceedsNodes(plain) {
		return
	}
	values := s.valuesOf(plain)
	options, items := make([]*model.Options, len(plain)), make([]colgen.Item, len(plain))
	for j, c := range plain {
		requires, honour := c.RequiresAt(c.Level)
		options[j] = s.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour)
		items[j].Need = c.Need
	}
	single := colgen.NewSingle(items)
	for i, n := range s.Existing() {
		for j, c := range plain {
			items[j].Count = s.RoomOn(c, options[j], i, c.Open())
			items[j].Most = items[j].Count
		}
		for _, part := range single.Fill(n.Free, values) {
			if k := s.RoomOn(plain[part.Item], options[part.Item], i, part.N); k > 0 {
				s.Put(plain[part.Item], i, plain[part.Item].Level, k)
			}
		}
	}
}

// valuesOf returns what a pod of each class is worth by its needs: the
// resources are priced as if parts of machines could be bought for all.
func (s *Placer) valuesOf(classes []*assign.Class) []float64 {
	d := price.NewDemand(len(s.Space.Names))
	for _, c := range classes {
		d.Add(c.Need, c.Open())
	}
	offerings := make([]int, len(s.Offerings))
	for k := range offerings {
		offerings[k] = k
	}
	y := price.New(s.Supply, offerings, int64(s.NodeCost)).Duals(d)
	out := make([]float64, len(classes))
	for i, c := range classes {
		out[i] = price.Value(c.Need, y)
	}
	return out
}

// exceedsNodes reports whether the classes need more of something than all nodes
// together have.
func (s *Placer) exceedsNodes(classes []*assign.Class) bool {
	total := make([]int64, len(s.Space.Names))
	for _, c := range classes {
		model.AddTimes(total, c.Need, c.Open())
	}
	for _, n := range s.Existing() {
		for r, v := range n.Free {
			total[r] -= min(max(0, v), model.Plenty/int64(len(s.Existing())+1))
		}
	}
	return len(s.Existing()) > 0 && slices.Max(total) > 0
}
