package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/assign"

// Pods that are spread are divided among topology domains before machines are bought. If
// limits leave most of them over, they leave more over in one domain than in another, and the
// spread then refuses pods in the others. So all is placed again with fewer of these pods,
// which are divided evenly as well. The other pods get what room is left then.

// maxShares bounds how often all is placed again with another number of pods.
const maxShares = 4

// bestShares returns the plan that serves most: s, which was made in the way v, or one in which
// only some of the pods that are spread and that limits leave over are placed at first.
func (p *planning) bestShares(s *solver, v variant) (*solver, variant) {
	// As many pods as limits allow are at least those that have a place, and about as many at
	// most as machines were bought for before the spreads refused some.
	fewest, most := map[int]int64{}, map[int]int64{}
	for i, c := range s.Classes() {
		if c.Left > 0 && c.Limited && len(c.Spreads()) > 0 && s.bought[i] > served(c) {
			fewest[c.First()], most[c.First()] = served(c), s.bought[i]
		}
	}
	ask := most
	for try := 0; try < maxShares && len(ask) > 0; try++ {
		other := v
		other.first = ask
		again := p.solved(other)
		if again.serves(s) {
			s, v = again, other
		}
		next := map[int]int64{}
		for _, c := range again.Classes() {
			id := c.First()
			n, asked := ask[id]
			if !asked {
				continue
			}
			if fewest[id] = max(fewest[id], served(c)); served(c) < n {
				most[id] = n - 1
			}
			if fewest[id] < most[id] {
				next[id] = (fewest[id] + most[id] + 1) / 2
			}
		}
		ask = next
	}
	return s, v
}

// served returns how many pods of a class have a place.
func served(c *assign.Class) int64 { return int64(len(c.Class.Pods)) - c.Left }

// placeFirst holds back all pods of the classes but so many.
func (s *solver) placeFirst(first map[int]int64) {
	for _, c := range s.Classes() {
		if n, ok := first[c.First()]; ok {
			c.Held = max(0, c.Left-n)
		}
	}
}

// placeOthers notes how many pods of each class have a place, and lets those that were held back
// have one.
func (s *solver) placeOthers() {
	for _, c := range s.Classes() {
		s.bought = append(s.bought, served(c))
		c.Held = 0
	}
}
