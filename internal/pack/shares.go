package pack

import (
	"maps"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
)

// A plan may be better if only some pods are placed at first, and the others get what room is left.
//
//   - Pods that are spread are divided among topology domains before machines are bought. If limits
//     leave most of them over, they leave more over in one domain than in another, and the spread
//     then refuses pods in the others. Fewer pods are divided evenly as well.
//   - If limits leave pods over, the important ones get machines of their own before the others. The
//     cheapest machines for each priority may use up a limit that is enough for all of them together.
//   - Where a spread refuses pods that machines were bought for, the machines are too large for the rest.

// maxShares bounds how often all is placed again with another number of pods.
const maxShares = 4

// shares are how many pods of classes are placed at first.
type shares struct {
	fewest, most map[int]int64 // by the first pod of the class
	later        map[int]bool  // classes that wait for all of these
	patterns     bool          // machines are chosen by patterns, too
}

func newShares() shares {
	return shares{fewest: map[int]int64{}, most: map[int]int64{}, later: map[int]bool{}}
}

// bestShares returns the plan that serves most, and costs least: s, or one in which
// only some of the pods that have no place are placed at first.
func (p *planning) bestShares(s *solver) *solver {
	if !s.Uses(assign.Shares) {
		return s
	}
	s = p.searchShares(s, s.limitedSpreads())
	s = p.searchShares(s, s.limitedPriority())
	other := s.made
	if other.first = s.refused(); len(other.first) > 0 {
		maps.Copy(other.first, s.made.first)
		s = p.better(s, other)
	}
	return s
}

// searchShares begins with most pods, and then halves the distance between what could be served and what could not.
func (p *planning) searchShares(s *solver, of shares) *solver {
	ask := maps.Clone(of.most)
	for try, open := 0, len(ask) > 0; open && try < maxShares && p.effort.Spare(); try++ {
		other := s.made
		other.first, other.later, other.patterns = maps.Clone(ask), of.later, of.patterns || s.made.patterns
		for id, n := range s.made.first {
			if _, asked := ask[id]; !asked {
				other.first[id] = n
			}
		}
		again := p.solved(other)
		if again.serves(s) {
			s = again
		}
		ask, open = of.next(again, ask)
	}
	return s
}

// next returns how many pods to ask for after a plan was made for so many, and whether that is a new question.
func (sh shares) next(made *solver, asked map[int]int64) (ask map[int]int64, open bool) {
	ask = map[int]int64{}
	for _, c := range made.Classes() {
		id := c.First()
		n, shared := asked[id]
		if !shared {
			continue
		}
		if sh.fewest[id] = max(sh.fewest[id], served(c)); served(c) < n {
			sh.most[id] = n - 1
		}
		ask[id] = sh.most[id]
		if sh.fewest[id] < sh.most[id] {
			ask[id], open = (sh.fewest[id]+sh.most[id]+1)/2, true
		}
	}
	return ask, open
}

// limitedSpreads are the classes with spreads that limits leave pods over of. As many pods as limits allow are at
// least those that have a place, and about as many at most as machines were bought for before the spreads refused
// some.
func (s *solver) limitedSpreads() shares {
	out := newShares()
	for i, c := range s.Classes() {
		if c.Left > 0 && c.Limited && len(c.Spreads()) > 0 && s.bought[i] > served(c) {
			out.fewest[c.First()], out.most[c.First()] = served(c), s.bought[i]
		}
	}
	return out
}

// limitedPriority are the classes of the highest priority that limits leave pods over of, if there are others. Those
// of lower priority wait for them. The program over patterns knows what each machine uses up of each limit.
func (s *solver) limitedPriority() shares {
	out := newShares()
	out.patterns = s.Uses(assign.Patterns)
	var highest *assign.Class
	classes := s.Classes()
	for _, c := range classes {
		id := c.First()
		switch {
		case highest != nil && c.Template.Priority < highest.Template.Priority:
			out.later[id] = true
		case c.Left > 0 && c.Limited:
			highest = c
			out.fewest[id], out.most[id] = served(c), int64(len(c.Class.Pods))
		}
	}
	if highest == nil || classes[0].Template.Priority == classes[len(classes)-1].Template.Priority {
		return newShares()
	}
	return out
}

// refused returns how many pods have a place of the classes for which more were bought.
func (s *solver) refused() map[int]int64 {
	out := map[int]int64{}
	for i, c := range s.Classes() {
		if s.bought[i] > served(c) {
			out[c.First()] = served(c)
		}
	}
	return out
}

// served returns how many pods of a class have a place.
func served(c *assign.Class) int64 { return int64(len(c.Class.Pods)) - c.Left }

// placeFirst holds back pods that are not placed at first.
func (s *solver) placeFirst(v variant) {
	for _, c := range s.Classes() {
		if v.later[c.First()] {
			c.Held = c.Left
		} else {
			v.hold(c)
		}
	}
}

// hold holds back all pods of a class but so many as are placed first, with those that have a place already.
func (v variant) hold(c *assign.Class) {
	c.Held = 0
	if n, ok := v.first[c.First()]; ok {
		c.Held = c.Left - min(c.Left, max(0, n-served(c)))
	}
}

// placeOthers places the classes that have waited for others, the important ones first, and notes how many pods of
// each class have a place. Then it lets those that were held back have one: they get what room is left.
func (s *solver) placeOthers(v variant) {
	var later []*assign.Class
	for _, c := range s.Classes() {
		if v.later[c.First()] {
			v.hold(c)
			later = append(later, c)
		}
	}
	s.byPriority(later)
	for _, c := range s.Classes() {
		s.bought = append(s.bought, served(c))
		c.Held = 0
	}
}
