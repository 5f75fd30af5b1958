package check

import (
	"math/rand/v2"
	"slices"
)

// orderHosts returns the lots of which some pods cannot have come to their hosts
// in any order, with their number. With the fewest pods of a domain being none,
// each pod that comes makes it harder for the next, so the pods are taken away
// again, the last one first: one that could have come last may always be taken. What
// a rule saw when the last pod came is what is there now, that pod included if it counts.
// Nodes that exist may have come to what they all have, in rounds.
func orderHosts(rules []*rule, lots []*lot) []lot {
	var stuck []lot
	for len(lots) > 0 { // sorted by host, and hosts do not affect each other
		n := slices.IndexFunc(lots, func(l *lot) bool { return l.domain != lots[0].domain })
		if n < 0 {
			n = len(lots)
		}
		stuck = append(stuck, emptyHost(rules, lots[:n])...)
		lots = lots[n:]
	}
	return stuck
}

func emptyHost(rules []*rule, lots []*lot) []lot {
	count := map[int]int{}
	left := make([]int, len(lots))
	for i, l := range lots {
		left[i] = l.pods
		for _, r := range l.counts {
			count[r] += l.pods
		}
	}
	for progress := true; progress; {
		progress = false
		for i, l := range lots {
			for left[i] > 0 && !slices.ContainsFunc(l.rules, func(r int) bool { return count[r] > rules[r].most(l) }) {
				left[i]--
				progress = true
				for _, r := range l.counts {
					count[r]--
				}
			}
		}
	}
	return remains(lots, left)
}

// most is how many pods that the rule counts may be where a pod of the lot comes.
func (r *rule) most(l *lot) int {
	if l.exists {
		return r.skew + r.fewest
	}
	return r.skew
}

func remains(lots []*lot, left []int) []lot {
	var out []lot
	for i, l := range lots {
		if left[i] > 0 {
			stuck := *l
			stuck.pods = left[i]
			out = append(out, stuck)
		}
	}
	return out
}

// How long an order over zones is searched for: fewer times where there are many lots.
const (
	mostAttempts  = 2000
	leastAttempts = 100
	lotsLookedAt  = 400_000
)

// orderZones is orderHosts where the fewest pods of a zone matter. The order is
// searched greedily, the first times in the most promising ways and then with
// chance: what it finds is an order, what it does not find is most likely none.
func orderZones(rules []*rule, lots []*lot) []lot {
	var best []lot
	for attempt := range min(mostAttempts, max(leastAttempts, lotsLookedAt/(len(lots)+1))) {
		s := newSearch(rules, lots, attempt)
		s.run()
		stuck := remains(lots, s.left)
		if len(stuck) == 0 {
			return nil
		}
		if best == nil || total(stuck) < total(best) {
			best = stuck
		}
	}
	return best
}

func total(lots []lot) int {
	n := 0
	for _, l := range lots {
		n += l.pods
	}
	return n
}

// search is one attempt at an order.
type search struct {
	rules []*rule
	lots  []*lot
	left  []int
	count []map[string]int // by rule and domain
	rank  func(i int) float64
}

func newSearch(rules []*rule, lots []*lot, attempt int) *search {
	s := &search{rules: rules, lots: lots}
	for _, l := range lots {
		s.left = append(s.left, l.pods)
	}
	for range rules {
		s.count = append(s.count, map[string]int{})
	}
	r := rand.New(rand.NewPCG(uint64(attempt), 1))
	switch attempt {
	case 0:
		s.rank = func(i int) float64 { return float64(s.height(i)) }
	case 1:
		s.rank = func(i int) float64 { return float64(s.height(i)) - 1e6*float64(s.urgency(i)) }
	default:
		weight := r.Float64() * 4
		s.rank = func(i int) float64 { return float64(s.height(i)) - weight*float64(s.urgency(i)) + 2*r.Float64() }
	}
	return s
}

func (s *search) run() {
	for i := s.next(); i >= 0; i = s.next() {
		s.left[i]--
		for _, r := range s.lots[i].counts {
			s.count[r][s.lots[i].domain]++
		}
	}
}

// next takes a pod with rules that may come now, else one without rules that
// helps a pod with some, else any without; -1 when none can come.
func (s *search) next() int {
	bound, helping, free := -1, -1, -1
	better := func(at *int, i int, rank float64, best *float64) {
		if *at < 0 || rank < *best {
			*at, *best = i, rank
		}
	}
	var boundRank, helpingRank, freeRank float64
	blocked := map[int]bool{}
	for i, l := range s.lots {
		if s.left[i] == 0 || len(l.rules) == 0 {
			continue
		}
		if s.allowed(i) {
			better(&bound, i, s.rank(i), &boundRank)
			continue
		}
		for _, r := range l.rules {
			blocked[r] = true
		}
	}
	if bound >= 0 {
		return bound
	}
	for i, l := range s.lots {
		if s.left[i] == 0 || len(l.rules) > 0 {
			continue
		}
		better(&free, i, float64(s.height(i)), &freeRank)
		if slices.ContainsFunc(l.counts, func(r int) bool { return blocked[r] && s.count[r][l.domain] == s.fewest(r) }) {
			better(&helping, i, float64(s.height(i)), &helpingRank)
		}
	}
	if helping >= 0 {
		return helping
	}
	return free
}

// allowed reports whether one more pod of the lot may come.
func (s *search) allowed(i int) bool {
	return !slices.ContainsFunc(s.lots[i].rules, func(r int) bool { return s.skew(i, r) > s.rules[r].skew })
}

// skew is what a rule sees when a pod of the lot comes.
func (s *search) skew(i, r int) int {
	l := s.lots[i]
	self := 0
	if slices.Contains(l.counts, r) {
		self = 1
	}
	return s.count[r][l.domain] + self - s.fewest(r)
}

func (s *search) fewest(r int) int {
	fewest := 0
	for k, d := range s.rules[r].domains {
		if n := s.count[r][d]; k == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}

// height is how many pods of the lot's kind its domain has.
func (s *search) height(i int) int {
	most := 0
	for _, r := range s.lots[i].counts {
		most = max(most, s.count[r][s.lots[i].domain])
	}
	return most
}

// urgency is how close the lot's rules are to keeping it out.
func (s *search) urgency(i int) int {
	most := 0
	for _, r := range s.lots[i].rules {
		most = max(most, s.skew(i, r))
	}
	return most
}
