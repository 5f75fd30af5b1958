package place

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// fillEvenly fills nodes that exist with pods of the classes so that no resource is
// left over for want of another: where there are more pods than the nodes can hold,
// what they hold is not bought for. The rest of the room is left to fill, and so is what
// classes that domains matter to are worth having there.
func (pl *Placer) fillEvenly(open []*assign.Class) {
	var classes []*assign.Class
	for _, c := range open {
		if c.Open() > 0 && len(c.Nodes) == 0 {
			classes = append(classes, c)
		}
	}
	if pl.Uneven || !pl.Uses(assign.EvenNodes) || len(classes) < 2 || classes[0].Template.Priority != classes[len(classes)-1].Template.Priority || !pl.exceedsNodes(classes) {
		return
	}
	pl.Effort.Others() // a look at all nodes for all classes is work for none of them alone
	e := evenly{Placer: pl, classes: classes}
	for _, c := range classes {
		requires, honour := c.RequiresAt(c.Level)
		e.options = append(e.options, pl.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour))
		e.left = append(e.left, c.Open())
	}
	e.worth = e.values()
	for i, n := range pl.Existing() {
		e.free = append(e.free[:0], n.Free...)
		for e.ask(i); len(e.fits) > 0 && e.fill(i); e.ask(i) {
		}
	}
}

// evenly fills one node after the other with pods of classes.
type evenly struct {
	*Placer
	classes []*assign.Class
	options []*model.Options // of each class
	worth   []float64        // of a pod of each class
	left    []int64          // pods of each class that have no room on a node yet
	free    []int64          // what is left of the node

	fits  []int // the classes of which a pod fits, and of each:
	share []float64
	most  []float64
	value []float64
}

// ask states what may be on the node.
func (e *evenly) ask(node int) {
	e.fits, e.share, e.most, e.value = e.fits[:0], e.share[:0], e.most[:0], e.value[:0]
	for j, c := range e.classes {
		n := amount.Copies(c.Need, e.free, e.left[j])
		if n > 0 {
			n = e.roomOn(node, j, n)
		}
		if n == 0 {
			continue
		}
		e.fits, e.most, e.value = append(e.fits, j), append(e.most, float64(n)), append(e.value, e.worth[j])
		for r, need := range c.Need {
			e.share = append(e.share, float64(need)/float64(max(1, e.free[r])))
		}
	}
}

// roomOn returns how many pods of a class the node can take, at most n.
func (e *evenly) roomOn(node, class int, n int64) int64 {
	if c := e.classes[class]; byDomain(c) {
		return e.RoomAlone(c, e.options[class], node, n)
	}
	return e.RoomOn(e.classes[class], e.options[class], node, n)
}

// byDomain reports whether domains decide where the pods of the class may be. They are placed
// in an order of their own.
func byDomain(c *assign.Class) bool { return len(c.Keys)+len(c.Follows()) > 0 }

// fill gives room on the node to the whole pods of the content that would be worth most there if
// pods could be divided, and reports whether there are any.
func (e *evenly) fill(node int) bool {
	p := lp.NewPacking(len(e.free), e.share, e.most)
	p.Solve(e.value)
	filled := false
	for at, j := range e.fits {
		c, n := e.classes[j], int64(p.Content(at)+lp.Tolerance)
		if n == 0 {
			continue
		}
		if !byDomain(c) {
			if n = e.roomOn(node, j, n); n > 0 {
				e.Put(c, node, c.Level, n)
			}
		}
		e.left[j] -= n
		model.AddTimes(e.free, c.Need, -n)
		filled = filled || n > 0
	}
	return filled
}

// preferLarge is by what share the pods that are worth most are worth more than their needs:
// the small ones fill up what is bought. Between 0.01 and 1 it makes no difference of more than
// 0.2 % in nine worlds; 0 costs up to 2.7 %.
const preferLarge = 0.05

// values returns what a pod of each class is worth by its needs, at the lowest price that it can
// be bought for.
func (e *evenly) values() []float64 {
	d := price.NewDemand(len(e.Space.Names))
	for _, c := range e.classes {
		d.Add(c.Need, c.Open())
	}
	prices := e.pricesOf(d)
	out := make([]float64, len(e.classes))
	for i, c := range e.classes {
		out[i] = price.Value(c.Need, prices.Dual)
		if least, ok := prices.Least(e.Fitting(c.Need, c.PerNode, c.AllowDevices, e.options[i])); ok {
			out[i] *= least
		}
	}
	if largest := slices.Max(out); largest > 0 {
		for i, v := range out {
			out[i] += float64(v * float64(preferLarge*v/largest))
		}
	}
	return out
}

// pricesOf prices the resources as if parts of machines could be bought for a demand.
func (pl *Placer) pricesOf(d *price.Demand) price.Prices {
	offerings := make([]int, len(pl.Offerings))
	for k := range offerings {
		offerings[k] = k
	}
	return price.New(pl.Supply, offerings).Price(d)
}

// exceedsNodes reports whether the classes need more of something than all nodes
// together have.
func (pl *Placer) exceedsNodes(classes []*assign.Class) bool {
	total := make([]int64, len(pl.Space.Names))
	for _, c := range classes {
		model.AddTimes(total, c.Need, c.Open())
	}
	for _, n := range pl.Existing() {
		for r, v := range n.Free {
			total[r] -= min(max(0, v), model.Plenty/int64(len(pl.Existing())+1))
		}
	}
	return len(pl.Existing()) > 0 && slices.Max(total) > 0
}
