package colgen

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

const plentyOfTime = 100_000_000

func TestSolve(t *testing.T) {
	for name, c := range map[string]struct {
		items  []Item
		kinds  []MachineKind
		limits []int64
		leave  float64
		want   float64 // cost, of what is left over too, and bound
	}{
		"items that fill a machine evenly": {
			items: []Item{{Need: []int64{2}, Count: 10, Most: 10}},
			kinds: []MachineKind{{Room: []int64{4}, Cost: 30, Items: []int{0}}},
			want:  150,
		},
		"part of a machine": {
			items: []Item{{Need: []int64{2}, Count: 3, Most: 3}},
			kinds: []MachineKind{{Room: []int64{4}, Cost: 30, Items: []int{0}}},
			want:  45,
		},
		"room that no whole item can use": {
			items: []Item{{Need: []int64{3}, Count: 4, Most: 4}},
			kinds: []MachineKind{{Room: []int64{5}, Cost: 10, Items: []int{0}}},
			want:  40,
		},
		"no more than so many on one machine": {
			items: []Item{{Need: []int64{1}, Count: 6, Most: 2}},
			kinds: []MachineKind{{Room: []int64{10}, Cost: 10, Items: []int{0}}},
			want:  30,
		},
		"items that complement each other": {
			items: []Item{{Need: []int64{3, 1}, Count: 8, Most: 8}, {Need: []int64{1, 3}, Count: 8, Most: 8}},
			kinds: []MachineKind{{Room: []int64{4, 4}, Cost: 10, Items: []int{0, 1}}},
			want:  80,
		},
		"items that may not be together": {
			items: []Item{{Need: []int64{3, 1}, Count: 8, Most: 8}, {Need: []int64{1, 3}, Count: 8, Most: 8}},
			kinds: []MachineKind{{Room: []int64{4, 4}, Cost: 10, Items: []int{0}}, {Room: []int64{4, 4}, Cost: 10, Items: []int{1}}},
			want:  160,
		},
		"the kind that is cheaper for an item": {
			items: []Item{{Need: []int64{1}, Count: 12, Most: 12}},
			kinds: []MachineKind{{Room: []int64{4}, Cost: 40, Items: []int{0}}, {Room: []int64{6}, Cost: 48, Items: []int{0}}},
			want:  96,
		},
		"a limit on the cheaper kind": {
			items:  []Item{{Need: []int64{1}, Count: 16, Most: 16}},
			kinds:  []MachineKind{{Room: []int64{4}, Cost: 10, Items: []int{0}, Uses: []int64{4}}, {Room: []int64{4}, Cost: 20, Items: []int{0}}},
			limits: []int64{8}, leave: 100,
			want: 60,
		},
		"a limit goes to the items that gain most from it": {
			items: []Item{{Need: []int64{1}, Count: 8, Most: 8}, {Need: []int64{1}, Count: 8, Most: 8}},
			kinds: []MachineKind{
				{Room: []int64{4}, Cost: 10, Items: []int{0, 1}, Uses: []int64{4}},
				{Room: []int64{4}, Cost: 20, Items: []int{0}}, {Room: []int64{4}, Cost: 50, Items: []int{1}},
			},
			limits: []int64{8}, leave: 100,
			want: 60,
		},
		"a limit that does not allow all": {
			items:  []Item{{Need: []int64{1}, Count: 16, Most: 16}},
			kinds:  []MachineKind{{Room: []int64{4}, Cost: 10, Items: []int{0}, Uses: []int64{4}}},
			limits: []int64{8}, leave: 30,
			want: 20 + 8*30,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := New(Program{Items: c.items, Kinds: c.kinds, Limits: c.limits, Leave: c.leave, Target: math.Inf(1)})
			got := g.Solve(plentyOfTime)
			if cost := costOf(got, c.kinds) + c.leave*leftOf(got, c.items); math.Abs(cost-c.want) > 1e-3 {
				t.Errorf("costs %v, want %v", cost, c.want)
			}
			if math.Abs(g.bound-c.want) > 1e-3 {
				t.Errorf("bound %v, want %v", g.bound, c.want)
			}
			if !got.Close {
				t.Error("ran out of time")
			}
		})
	}
}

// leftOf returns how many items have no place.
func leftOf(s Solution, items []Item) float64 {
	left := 0.0
	for i := range items {
		open := float64(items[i].Count)
		for j, p := range s.Patterns {
			for _, part := range p.Parts {
				if part.Item == i {
					open -= s.Times[j] * float64(part.N)
				}
			}
		}
		left += max(0, open)
	}
	return left
}

func costOf(s Solution, kinds []MachineKind) float64 {
	sum := 0.0
	for i, p := range s.Patterns {
		sum += s.Times[i] * float64(kinds[p.Kind].Cost)
	}
	return sum
}

// programs draws programs that are small enough to list all patterns of.
func programs(t *rapid.T) Program {
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	kinds := make([]MachineKind, rapid.IntRange(1, 3).Draw(t, "kinds"))
	for k := range kinds {
		kinds[k] = MachineKind{Room: rapid.SliceOfN(rapid.Int64Range(4, 12), resources, resources).Draw(t, "room"), Cost: rapid.Int64Range(5, 50).Draw(t, "cost")}
	}
	items := make([]Item, rapid.IntRange(1, 4).Draw(t, "items"))
	for i := range items {
		need := rapid.SliceOfN(rapid.Int64Range(0, 4), resources, resources).Draw(t, "need")
		need[0] = max(1, need[0])
		items[i] = Item{Need: need, Count: rapid.Int64Range(1, 20).Draw(t, "count"), Most: rapid.Int64Range(1, 20).Draw(t, "most")}
		for k := range kinds {
			if k == 0 || rapid.Bool().Draw(t, "allowed") {
				kinds[k].Items = append(kinds[k].Items, i)
			}
		}
	}
	return Program{Items: items, Kinds: kinds, Target: math.Inf(1)}
}

// contents calls yield with every content of a machine.
func contents(p *Program, k *MachineKind, yield func(n []int64)) {
	n, rest := make([]int64, len(p.Items)), slices.Clone(k.Room)
	var from func(at int)
	from = func(at int) {
		if at == len(k.Items) {
			yield(n)
			return
		}
		i := k.Items[at]
		l := &p.Items[i]
		for n[i] = amount.Copies(l.Need, rest, min(l.Most, l.Count)); ; n[i]-- {
			for r, v := range l.Need {
				rest[r] -= n[i] * v
			}
			from(at + 1)
			for r, v := range l.Need {
				rest[r] += n[i] * v
			}
			if n[i] == 0 {
				return
			}
		}
	}
	from(0)
}

// TestProof checks the proof that comes with a bound against every content there is.
func TestProof(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := programs(t)
		g := New(p)
		g.Solve(plentyOfTime)
		total := 0.0
		for i, l := range p.Items {
			total += g.centre[i] * float64(l.Count)
		}
		if total < g.bound*(1-1e-6) {
			t.Fatalf("the items are worth %v, less than the bound of %v", total, g.bound)
		}
		for k := range p.Kinds {
			contents(&p, &p.Kinds[k], func(n []int64) {
				value := 0.0
				for i, v := range n {
					value += g.centre[i] * float64(v)
				}
				if value > float64(p.Kinds[k].Cost)*(1+1e-6) {
					t.Fatalf("content %v of kind %d is worth %v, more than it costs", n, k, value)
				}
			})
		}
	})
}

// TestSolution checks that patterns are contents, that they hold all items, and
// that with time enough the cost is the bound.
func TestSolution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := programs(t)
		g := New(p)
		s := g.Solve(plentyOfTime)
		holds(t, &p, s)
		if cost := costOf(s, p.Kinds); cost > g.bound*(1+1e-4) || cost < g.bound*(1-1e-6) {
			t.Fatalf("costs %v with a bound of %v", cost, g.bound)
		}
	})
}

func holds(t *rapid.T, p *Program, s Solution) {
	held := make([]float64, len(p.Items))
	for j, pattern := range s.Patterns {
		k := &p.Kinds[pattern.Kind]
		used := make([]int64, len(k.Room))
		for _, part := range pattern.Parts {
			l := &p.Items[part.Item]
			if part.N > l.Most || !slices.Contains(k.Items, part.Item) {
				t.Fatalf("pattern %v: kind %d may not hold it", pattern, pattern.Kind)
			}
			for r, v := range l.Need {
				used[r] += v * part.N
			}
			held[part.Item] += s.Times[j] * float64(part.N)
		}
		for r, v := range used {
			if v > k.Room[r] {
				t.Fatalf("pattern %v takes %d of %d", pattern, v, k.Room[r])
			}
		}
	}
	for i, l := range p.Items {
		if held[i] < float64(l.Count)*(1-1e-6) {
			t.Fatalf("holds %v of %d items %d", held[i], l.Count, i)
		}
	}
}

// TestRecount checks that a solution for what is left is one, as if it were asked
// for from the start.
func TestRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := programs(t)
		g := New(p)
		g.Solve(plentyOfTime)
		left := make([]int64, len(p.Items))
		some := false
		fresh := p
		fresh.Items = slices.Clone(p.Items)
		for i := range left {
			left[i] = rapid.Int64Range(0, p.Items[i].Count).Draw(t, "left")
			fresh.Items[i].Count = left[i]
			some = some || left[i] > 0
		}
		g.Recount(left, nil)
		got := g.Solve(plentyOfTime)
		holds(t, &fresh, got)
		if cost := costOf(got, p.Kinds); cost < g.bound*(1-1e-6) || some && g.bound <= 0 {
			t.Fatalf("costs %v with a bound of %v", cost, g.bound)
		}
	})
}

// TestNoTime checks that there is always a solution.
func TestNoTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := programs(t)
		s := New(p).Solve(0)
		holds(t, &p, s)
		if s.Close {
			t.Fatal("claims to be close without having looked")
		}
	})
}

// TestEffortIsBounded: what is solved again and again for what is left takes no more operations
// than it may, but for the contents that are looked for when these are used up.
func TestEffortIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	p := Program{Kinds: make([]MachineKind, 4), Target: math.Inf(1)}
	for i := range 60 {
		p.Items = append(p.Items, Item{Need: []int64{900 + random.Int64N(200), 900 + random.Int64N(200), 900 + random.Int64N(200)}, Count: 1000, Most: 1000})
		for k := range p.Kinds {
			p.Kinds[k].Items = append(p.Kinds[k].Items, i)
		}
	}
	for k := range p.Kinds {
		room := 31_000 + int64(k)
		p.Kinds[k].Room, p.Kinds[k].Cost = []int64{room, room, room}, room
	}
	const operations, overspent = 50_000_000, 10_000_000
	g := New(p)
	for times := range 8 {
		if spent := g.Solve(operations).Spent; spent > operations+overspent {
			t.Fatalf("%d operations are spent at time %d, of %d", spent, times, operations)
		}
		left := make([]int64, len(p.Items))
		for i := range left {
			left[i] = 1000 - 100*int64(times+1) + random.Int64N(50)
		}
		g.Recount(left, nil)
	}
}
