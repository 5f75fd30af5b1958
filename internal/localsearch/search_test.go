package localsearch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// shop draws items of two resources, offerings of several sizes and two kinds of them, and
// a purchase of one machine for each item.
func shop(t *rapid.T) (*Problem, []Machine) {
	p := &Problem{}
	for size := range int64(5) {
		for _, memory := range []int64{2, 8} {
			room := []int64{1 << size, memory << size}
			p.Offerings = append(p.Offerings, Offering{Room: room, Cost: (10 + memory) << size, Limit: -1})
		}
	}
	p.Kinds = [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 3, 5, 7, 9}}
	var bought []Machine
	for i := range rapid.IntRange(1, 8).Draw(t, "items") {
		it := Item{
			Need:  []int64{rapid.Int64Range(1, 6).Draw(t, "cpu"), rapid.Int64Range(0, 30).Draw(t, "memory")},
			Count: rapid.Int64Range(1, 6).Draw(t, "count"), Kind: rapid.IntRange(0, 1).Draw(t, "kind"), Price: []float64{9, 1},
		}
		it.Value = valueOf(it.Need, it.Price)
		p.Items = append(p.Items, it)
		for range it.Count {
			bought = append(bought, Machine{Offering: 9, Parts: []Part{{i, 1}}})
		}
	}
	return p, bought
}

// holds fails the test unless the machines hold all items, and returns what they cost.
func holds(t *rapid.T, p *Problem, machines []Machine) int64 {
	cost, left := int64(0), make([]int64, len(p.Items))
	for i, it := range p.Items {
		left[i] = it.Count
	}
	nodes := 0
	for _, m := range machines {
		o, used := &p.Offerings[m.Offering], make([]int64, 2)
		if o.Node {
			nodes++
		} else {
			cost += o.Cost
		}
		for _, part := range m.Parts {
			it := &p.Items[part.Item]
			if !slices.Contains(p.Kinds[it.Kind], m.Offering) {
				t.Fatalf("item %d is on offering %d", part.Item, m.Offering)
			}
			left[part.Item] -= part.N
			for r, v := range it.Need {
				used[r] += v * part.N
			}
		}
		if !fits(used, o.Room) {
			t.Fatalf("%v is on a machine of %v", used, o.Room)
		}
	}
	if slices.ContainsFunc(left, func(n int64) bool { return n != 0 }) {
		t.Fatalf("left over: %v", left)
	}
	for _, o := range p.Offerings {
		if o.Node {
			nodes--
		}
	}
	if nodes != 0 {
		t.Fatalf("%d nodes more than there are", nodes)
	}
	return cost
}

// TestPurchasesHoldAll: what is found holds every item, costs what is said, and never more
// for a longer search.
func TestPurchasesHoldAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, bought := shop(t)
		bought = withNodes(t, p, bought)
		before := holds(t, p, bought)
		for _, steps := range []int{100, 1000, 5000} {
			s := New(p, bought)
			s.Cycle(1000, 1000, 0)
			s.Cycle(steps, 5000, 0)
			cost := holds(t, p, s.Best())
			if cost != s.Cost() {
				t.Fatalf("it costs %d and is said to cost %d", cost, s.Cost())
			}
			if cost > before {
				t.Fatalf("%d steps cost %d instead of %d", steps, cost, before)
			}
			before = cost
		}
	})
}

// withNodes adds nodes, none of which holds anything.
func withNodes(t *rapid.T, p *Problem, bought []Machine) []Machine {
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		at := len(p.Offerings)
		room := []int64{rapid.Int64Range(0, 12).Draw(t, "free"), rapid.Int64Range(0, 40).Draw(t, "free")}
		p.Offerings = append(p.Offerings, Offering{Room: room, Cost: 1 + 9*room[0] + room[1], Node: true, Limit: -1})
		for i := range p.Kinds {
			if rapid.Bool().Draw(t, "may be there") {
				p.Kinds[i] = append(p.Kinds[i], at)
			}
		}
		bought = append(bought, Machine{Offering: at})
	}
	return bought
}

// TestNodesAreUsed: what fits onto a node is not bought, and a node takes what costs more
// elsewhere.
func TestNodesAreUsed(t *testing.T) {
	p := &Problem{
		Kinds:     [][]int{{0, 1, 2}},
		Offerings: []Offering{{Room: []int64{4}, Cost: 10, Limit: -1}, {Room: []int64{8}, Cost: 20, Limit: -1}, {Room: []int64{6}, Cost: 15, Node: true, Limit: -1}},
		Items:     []Item{{Need: []int64{5}, Count: 1, Price: []float64{2}, Value: 10}, {Need: []int64{4}, Count: 1, Price: []float64{2}, Value: 8}},
	}
	s := New(p, []Machine{{Offering: 1, Parts: []Part{{0, 1}}}, {Offering: 2, Parts: []Part{{1, 1}}}})
	if s.Cycle(10_000, 10_000, 10); s.Cost() != 10 {
		t.Errorf("%v cost %d, want 10", s.Best(), s.Cost())
	}
	if s.Cycle(10_000, 10_000, 0); len(s.Best()) != 2 {
		t.Errorf("%v are not a node and a machine", s.Best())
	}
}

// TestNothingIsSoldForAnItem: an item that no machine can hold, because limits leave none that could, stays on a
// node.
func TestNothingIsSoldForAnItem(t *testing.T) {
	node := Offering{Room: []int64{6}, Cost: 15, Node: true, Limit: -1}
	p := &Problem{
		Kinds:     [][]int{{0, 1, 2}, {1, 2}},
		Offerings: []Offering{{Room: []int64{8}, Cost: 20, Limit: -1}, node, node},
	}
	for kind, needs := range [][]int64{{5}, {4, 2}} {
		for _, need := range needs {
			p.Items = append(p.Items, Item{Need: []int64{need}, Count: 2, Kind: kind, Price: []float64{2}, Value: float64(2 * need)})
		}
	}
	onNode := []Part{{1, 1}, {2, 1}}
	s := New(p, []Machine{{Offering: 0, Parts: []Part{{0, 1}}}, {Offering: 0, Parts: []Part{{0, 1}}}, {Offering: 1, Parts: onNode}, {Offering: 2, Parts: onNode}})
	if s.Cycle(10_000, 10_000, 0); s.Cost() != 40 {
		t.Errorf("%v cost %d, want 40", s.Best(), s.Cost())
	}
}

// TestLimitsHold: no purchase uses more of a limit than there is.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, bought := shop(t)
		total := int64(0)
		for j := range p.Offerings {
			p.Offerings[j].Limit, p.Offerings[j].Uses = 0, []int64{p.Offerings[j].Room[0]}
		}
		for _, m := range bought {
			total += p.Offerings[m.Offering].Room[0]
		}
		p.Limits = [][]int64{{total}}
		s := New(p, bought)
		s.Cycle(5000, 5000, 0)
		for _, m := range s.Best() {
			total -= p.Offerings[m.Offering].Room[0]
		}
		if total < 0 {
			t.Fatalf("the limit is exceeded by %d", -total)
		}
		holds(t, p, s.Best())
	})
}

// apart lets at most one item of the first item be on a machine.
type apart struct{ n int64 }

func (a *apart) Begin(int)                   { a.n = 0 }
func (a *apart) Admits(_ int, n int64) int64 { return min(n, 1-a.n) }
func (a *apart) Add(_ int, n int64)          { a.n += n }

// TestRulesHold: tied items are together only as far as the rules admit.
func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, bought := shop(t)
		p.Items[0].Tied, p.Rules = true, &apart{}
		s := New(p, bought)
		s.Cycle(5000, 5000, 0)
		for _, m := range s.Best() {
			for _, part := range m.Parts {
				if part.Item == 0 && part.N > 1 {
					t.Fatalf("%d are on one machine", part.N)
				}
			}
		}
		holds(t, p, s.Best())
	})
}

// counted counts how often it is asked.
type counted struct {
	apart
	asked int
}

func (c *counted) Admits(item int, n int64) int64 {
	c.asked++
	return c.apart.Admits(item, n)
}

// TestTiesCount: asking about an item that has to do with many others takes more of the steps.
func TestTiesCount(t *testing.T) {
	asked := func(ties int) int {
		rules := &counted{}
		p := &Problem{Kinds: [][]int{{0, 1}}, Rules: rules, Offerings: []Offering{{Room: []int64{4}, Cost: 5, Limit: -1}, {Room: []int64{10}, Cost: 10, Limit: -1}}}
		var bought []Machine
		for i := range 8 {
			p.Items = append(p.Items, Item{Need: []int64{2}, Count: 1, Price: []float64{1}, Value: 2, Tied: true, Ties: ties})
			bought = append(bought, Machine{Offering: 1, Parts: []Part{{i, 1}}})
		}
		New(p, bought).Cycle(100_000, 100_000, 0)
		return rules.asked
	}
	if few, many := asked(1), asked(800); many == 0 || few < 10*many {
		t.Errorf("asked %d times about items with one tie, and %d times about those with 800", few, many)
	}
}

// only admits the first item on one offering.
type only struct{ offering, at int }

func (o *only) Begin(offering int) { o.at = offering }
func (o *only) Add(int, int64)     {}

func (o *only) Admits(_ int, n int64) int64 {
	if o.at != o.offering {
		return 0
	}
	return n
}

// TestRulesAreAskedAboutTheOffering: rules speak of the problem's offerings, which need not be
// sorted by what they cost.
func TestRulesAreAskedAboutTheOffering(t *testing.T) {
	p := &Problem{
		Kinds: [][]int{{0, 1, 2}}, Rules: &only{offering: 0},
		Offerings: []Offering{{Room: []int64{10}, Cost: 30, Limit: -1}, {Room: []int64{10}, Cost: 20, Limit: -1}, {Room: []int64{10}, Cost: 10, Limit: -1}},
		Items:     []Item{{Need: []int64{2}, Count: 5, Price: []float64{1}, Value: 2, Tied: true}},
	}
	var bought []Machine
	for range 5 {
		bought = append(bought, Machine{Offering: 0, Parts: []Part{{0, 1}}})
	}
	s := New(p, bought)
	if s.Cycle(10_000, 10_000, 30); s.Cost() != 30 || s.Best()[0].Offering != 0 {
		t.Errorf("%v cost %d, want 30 on offering 0", s.Best(), s.Cost())
	}
}

// TestOneMachineFinishes: items that fill one machine exactly come to be on it.
func TestOneMachineFinishes(t *testing.T) {
	p := &Problem{Kinds: [][]int{{0, 1}}, Offerings: []Offering{{Room: []int64{4}, Cost: 5, Limit: -1}, {Room: []int64{10}, Cost: 10, Limit: -1}}}
	var bought []Machine
	for i, need := range []int64{4, 3, 2, 1} {
		p.Items = append(p.Items, Item{Need: []int64{need}, Count: 1, Price: []float64{1}, Value: float64(need)})
		bought = append(bought, Machine{Offering: 0, Parts: []Part{{i, 1}}})
	}
	s := New(p, bought)
	if s.Cycle(10_000, 10_000, 10); s.Cost() != 10 {
		t.Errorf("it costs %d, want 10", s.Cost())
	}
}
