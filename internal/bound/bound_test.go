package bound

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
)

// everything is a choice of all of the first 64 offerings.
var everything = bitset.Set{math.MaxUint64}

const operations = 5_000_000

// machine is an offering of one resource besides pods.
func machine(room, price int64) Offering {
	return Offering{Room: []int64{room, 10}, Price: price, Capacity: []int64{room, 10}, Domains: []int{0}}
}

func pods(n, need int64) Class { return Class{Need: []int64{need, 1}, Count: n, Most: n} }

func TestPrice(t *testing.T) {
	small, large := machine(4, 100), machine(8, 150)
	other := machine(4, 300)
	other.Pool, other.Domains = 1, []int{1}
	lower := small
	lower.Tier = 1
	for name, c := range map[string]struct {
		problem Problem
		want    int64
	}{
		"nothing to buy for":            {Problem{Offerings: []Offering{small}}, 0},
		"as much as fits":               {Problem{Offerings: []Offering{small, large}, Classes: []Class{pods(4, 4)}}, 300},
		"pods are whole":                {Problem{Offerings: []Offering{small}, Classes: []Class{pods(4, 3)}}, 400},
		"a machine is whole":            {Problem{Offerings: []Offering{small}, Classes: []Class{pods(1, 1)}}, 100},
		"two of different classes":      {Problem{Offerings: []Offering{large}, Classes: []Class{pods(3, 5), pods(3, 6)}}, 900},
		"no more on a machine":          {Problem{Offerings: []Offering{small, large}, Classes: []Class{{Need: []int64{1, 1}, Count: 5, Most: 1}}}, 500},
		"none beside another":           {Problem{Offerings: []Offering{small}, Classes: []Class{pods(2, 1), pods(3, 1)}, Groups: []ClassGroup{{Classes: []int{0, 1}, Most: 1}}}, 500},
		"what they may be on":           {Problem{Offerings: []Offering{small, other}, Choices: []bitset.Set{{2}}, Classes: []Class{pods(2, 2)}}, 300},
		"room on a node":                {Problem{Offerings: []Offering{small}, Classes: []Class{pods(5, 2)}, Nodes: []Node{{Room: []int64{7, 9}, Holds: []int64{3}, Domains: []int{0}}}}, 100},
		"a node that not all may be on": {Problem{Offerings: []Offering{small}, Classes: []Class{pods(4, 2)}, Nodes: []Node{{Room: []int64{8, 9}, Holds: []int64{2}, Domains: []int{0}}}}, 100},
		"all on a node":                 {Problem{Offerings: []Offering{small}, Classes: []Class{pods(3, 1), pods(3, 2)}, Nodes: []Node{{Room: []int64{9, 9}, Holds: []int64{3, 3}, Domains: []int{0}}}}, 0},
		"a group on a node":             {Problem{Offerings: []Offering{small}, Classes: []Class{pods(2, 1), pods(2, 1)}, Groups: []ClassGroup{{[]int{0, 1}, 1}}, Nodes: []Node{{Room: []int64{8, 9}, Holds: []int64{2, 2}, Groups: []int64{1}, Domains: []int{0}}}}, 300},
		"a share of an expensive zone":  {Problem{Offerings: []Offering{small, other}, Classes: []Class{pods(2, 4)}, Shares: []DomainShare{{Domain: 1, Classes: []int{0}, Least: 1}}}, 400},
		"a limit":                       {Problem{Offerings: []Offering{small, other}, Classes: []Class{pods(3, 4)}, Limits: []Limit{{Most: 8}}}, 500},
		"a limit below one machine":     {Problem{Offerings: []Offering{small, other}, Classes: []Class{pods(1, 4)}, Limits: []Limit{{Most: 3}}}, 300},
		"a limit that is used up":       {Problem{Offerings: []Offering{small, other}, Classes: []Class{pods(1, 4)}, Limits: []Limit{{Most: 0}}}, 300},
		"what lower weights are paid":   {Problem{Offerings: []Offering{lower, other}, Classes: []Class{pods(3, 4)}, Spending: []Spending{{Tier: 1, Most: 199}}}, 502},
		"lower weights without machine": {Problem{Offerings: []Offering{lower, other}, Classes: []Class{pods(3, 4)}, Spending: []Spending{{Tier: 1, Most: 99}}}, 900},
		"what pods bring":               {Problem{Offerings: []Offering{lower, other}, Choices: []bitset.Set{everything, {1}}, Classes: []Class{pods(3, 4)}, Spending: []Spending{{Tier: 1, Funds: []Fund{{Class: 0, Choice: 1, Price: 100}}}}}, 300},
		"what only some pods bring":     {Problem{Offerings: []Offering{lower, other}, Choices: []bitset.Set{everything, {1}}, Classes: []Class{pods(1, 4), pods(3, 4)}, Spending: []Spending{{Tier: 1, Funds: []Fund{{Class: 0, Choice: 1, Price: 100}}}}}, 1000},
		"pods bring no more than once":  {Problem{Offerings: []Offering{lower, other}, Choices: []bitset.Set{everything, {1}}, Classes: []Class{pods(1, 1), pods(3, 3)}, Spending: []Spending{{Tier: 1, Funds: []Fund{{Class: 0, Choice: 1, Price: 100}}}}}, 700},
		"a limit to be used first":      {Problem{Offerings: []Offering{small, other}, Classes: []Class{pods(3, 4)}, Limits: []Limit{{Pool: 1, Most: 8, Least: 8}}}, 700},
	} {
		t.Run(name, func(t *testing.T) {
			p := c.problem
			if p.Choices == nil {
				p.Choices = []bitset.Set{everything}
			}
			p.Price, p.Operations = 2*c.want, operations
			if got, _ := Price(&p); got > c.want || float64(got) < float64(c.want)*0.99 {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// TestTooManyClasses: where there are too many classes for patterns, the sums of what
// they need prove something.
func TestTooManyClasses(t *testing.T) {
	p := &Problem{Offerings: []Offering{machine(4, 100)}, Choices: []bitset.Set{everything}, Price: 1 << 30, Operations: operations}
	for range MostClasses + 1 {
		p.Classes = append(p.Classes, pods(1, 2))
	}
	got, _ := Price(p)
	if want := int64(MostClasses+1) * 50; got > want || got < want-1 {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestEffortIsBounded: with next to no operations something smaller is proven.
func TestEffortIsBounded(t *testing.T) {
	p := &Problem{Offerings: []Offering{machine(7, 100), machine(16, 180)}, Choices: []bitset.Set{everything}, Price: 1 << 30}
	for i := range int64(20) {
		p.Classes = append(p.Classes, pods(3+i%4, 1+i%6))
	}
	p.Operations = 1
	little, _ := Price(p)
	p.Operations = operations
	if much, _ := Price(p); little <= 0 || little > much {
		t.Errorf("%d with one operation, %d with many", little, much)
	}
}

// TestUndominated: an offering is left out if another one is as good, and only then, unless there are no operations left to
// compare them. What many pools sell is not compared with all that all of them sell.
func TestUndominated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := small(t)
		got, _ := undominated(p)
		choices := p.choicesOf()
		for k := range p.Offerings {
			one := *p
			one.Offerings = p.Offerings[k : k+1]
			beaten := choices[k] == nil || len(one.byPrice()) == 0
			for _, j := range got {
				a, b := &p.Offerings[k], &p.Offerings[j]
				limits := slices.ContainsFunc(p.Limits, func(l Limit) bool { return l.Pool == a.Pool || l.Pool == b.Pool })
				beaten = beaten || j != k && choices[k].SubsetOf(choices[j]) && b.Price <= a.Price && atLeast(b.Room, a.Room) &&
					slices.Equal(a.Domains, b.Domains) && (len(p.Spending) == 0 || a.Tier == b.Tier) && (!limits || a.Pool == b.Pool && slices.Equal(a.Capacity, b.Capacity))
			}
			if !beaten && !slices.Contains(got, k) {
				t.Fatalf("offering %d is left out, and none is as good", k)
			}
		}
		p.Operations = 0
		if all, _ := undominated(p); len(all) < len(got) {
			t.Fatalf("%d offerings without operations, %d with them", len(all), len(got))
		}
	})
	const types, pools = 200, 50
	p := &Problem{Operations: 1 << 40}
	for i := range types * pools {
		p.Offerings = append(p.Offerings, machine(int64(1+i%types), int64(100+i)))
	}
	for i := range types {
		p.Choices = append(p.Choices, bitset.New(len(p.Offerings)))
		for pool := range pools {
			p.Choices[i].Add(pool*types + i)
		}
	}
	if got, spent := undominated(p); len(got) != types || spent > 2*operationsToCompare*types*types {
		t.Errorf("%d offerings after %d operations, want %d", len(got), spent, types)
	}
}

// small draws a problem that can be solved by trying everything.
func small(t *rapid.T) *Problem {
	p := &Problem{Operations: operations}
	number := func(from, to int64, what string) int64 { return rapid.Int64Range(from, to).Draw(t, what) }
	for range number(1, 4, "offerings") {
		o := Offering{Room: []int64{number(2, 12, "cpu"), number(2, 12, "memory")}, Price: number(10, 300, "price"), Pool: int(number(0, 1, "pool")), Tier: int(number(0, 2, "tier")), Domains: []int{int(number(0, 1, "domain"))}}
		o.Capacity = []int64{o.Room[0] + number(0, 2, "overhead"), o.Room[1]}
		p.Offerings = append(p.Offerings, o)
	}
	for range number(1, 3, "choices") {
		p.Choices = append(p.Choices, bitset.Set{uint64(number(1, 1<<len(p.Offerings)-1, "choice"))})
	}
	for range number(1, 3, "classes") {
		p.Classes = append(p.Classes, Class{Need: []int64{number(1, 6, "need"), number(0, 6, "need")}, Count: number(1, 3, "pods"), Choice: int(number(0, int64(len(p.Choices)-1), "of")), Most: number(1, 3, "most")})
	}
	classes := make([]int, len(p.Classes))
	for i := range classes {
		classes[i] = i
	}
	if number(0, 2, "grouped") == 0 {
		p.Groups = []ClassGroup{{Classes: classes, Most: number(1, 2, "together")}}
	}
	for range number(0, 1, "nodes") {
		n := Node{Room: []int64{number(0, 8, "free"), number(0, 8, "free")}, Domains: []int{int(number(0, 1, "in"))}, Groups: make([]int64, len(p.Groups))}
		for g := range n.Groups {
			n.Groups[g] = number(0, 2, "left")
		}
		for range p.Classes {
			n.Holds = append(n.Holds, number(0, 3, "holds"))
		}
		p.Nodes = append(p.Nodes, n)
	}
	if number(0, 2, "shared") == 0 {
		p.Shares = []DomainShare{{Domain: 1, Classes: classes[:1], Least: number(1, p.Classes[0].Count, "share")}}
	}
	if number(0, 1, "limited") == 0 {
		p.Limits = []Limit{{Most: number(0, 25, "limit"), Least: number(0, 8, "least")}}
	}
	if number(0, 1, "weighed") == 0 {
		for tier := range number(1, 2, "tiers") {
			s := Spending{Tier: int(tier) + 1, Most: number(0, 500, "spending")}
			for i := range p.Classes {
				if number(0, 1, "brings") == 0 {
					s.Funds = append(s.Funds, Fund{Class: i, Choice: int(number(0, int64(len(p.Choices)-1), "where")), Price: number(1, 200, "each")})
				}
			}
			p.Spending = append(p.Spending, s)
		}
	}
	return p
}

// oracle finds the least price by trying everything.
type oracle struct {
	*Problem
	best  int64
	bound []int // offerings of the machines
	on    [][]int64
	free  [][]int64
}

// optimum returns the least price, and whether there is a plan.
func optimum(p *Problem) (int64, bool) {
	o := &oracle{Problem: p, best: math.MaxInt64}
	for _, n := range p.Nodes {
		o.on, o.free = append(o.on, make([]int64, len(p.Classes))), append(o.free, slices.Clone(n.Room))
		o.bound = append(o.bound, -1)
	}
	o.place(0, p.Classes[0].Count, 0)
	return o.best, o.best < math.MaxInt64
}

// place finds places for the pods from a class on, of which so many are left.
func (o *oracle) place(class int, left, price int64) {
	for left == 0 {
		if class++; class == len(o.Classes) {
			o.finish(price)
			return
		}
		left = o.Classes[class].Count
	}
	for m := range o.bound {
		o.try(m, class, func() { o.place(class, left-1, price) })
	}
	for k := range o.Offerings {
		if price+o.Offerings[k].Price >= o.best {
			continue
		}
		o.bound, o.on, o.free = append(o.bound, k), append(o.on, make([]int64, len(o.Classes))), append(o.free, slices.Clone(o.Offerings[k].Room))
		o.try(len(o.bound)-1, class, func() { o.place(class, left-1, price+o.Offerings[k].Price) })
		last := len(o.bound) - 1
		o.bound, o.on, o.free = o.bound[:last], o.on[:last], o.free[:last]
	}
}

// try puts a pod on a machine, if it may be there, and goes on.
func (o *oracle) try(m, class int, next func()) {
	c, k := &o.Classes[class], o.bound[m]
	most := c.Most
	if k < 0 {
		most = o.Nodes[m].Holds[class]
	} else if !o.Choices[c.Choice].Has(k) {
		return
	}
	if o.on[m][class] >= most {
		return
	}
	for g := range o.Groups {
		count, limit := int64(0), o.Groups[g].Most
		if k < 0 {
			limit = o.Nodes[m].Groups[g]
		}
		for _, i := range o.Groups[g].Classes {
			count += o.on[m][i]
		}
		if slices.Contains(o.Groups[g].Classes, class) && count >= limit {
			return
		}
	}
	for r, v := range c.Need {
		if v > o.free[m][r] {
			return
		}
	}
	for r, v := range c.Need {
		o.free[m][r] -= v
	}
	o.on[m][class]++
	next()
	o.on[m][class]--
	for r, v := range c.Need {
		o.free[m][r] += v
	}
}

// finish keeps the price if the plan honours shares, limits and weights.
func (o *oracle) finish(price int64) {
	for _, s := range o.Shares {
		n := int64(0)
		for m, k := range o.bound {
			var domains []int
			if k < 0 {
				domains = o.Nodes[m].Domains
			} else {
				domains = o.Offerings[k].Domains
			}
			for _, c := range s.Classes {
				if domains[s.Key] == s.Domain {
					n += o.on[m][c]
				}
			}
		}
		if n < s.Least {
			return
		}
	}
	for _, l := range o.Limits {
		n := int64(0)
		for _, k := range o.bound {
			if k >= 0 && o.Offerings[k].Pool == l.Pool {
				n += o.Offerings[k].Capacity[l.Resource]
			}
		}
		if n > l.Most || n < l.Least {
			return
		}
	}
	for _, s := range o.Spending {
		left := s.Most
		for m, k := range o.bound {
			if k < 0 || o.Offerings[k].Tier < s.Tier {
				continue
			}
			left -= o.Offerings[k].Price
			for _, f := range s.Funds {
				if o.Choices[f.Choice].Has(k) {
					left += f.Price * o.on[m][f.Class]
				}
			}
		}
		if left < 0 {
			return
		}
	}
	o.best = min(o.best, price)
}

// TestBoundIsBelowTheOptimum: the bound is not above what trying everything finds, with
// whatever constraints, and often it is that.
func TestBoundIsBelowTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := small(t)
		best, ok := optimum(p)
		if !ok {
			return // there is no plan
		}
		p.Price = best
		if got, _ := Price(p); got > best {
			t.Fatalf("the bound is %d, a plan costs %d: %+v", got, best, p)
		}
	})
}
