// Package bound computes lower bounds independently of the decision core, with a general
// linear-programming solver.
package bound

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp" //nolint:misspell // the path is theirs

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// tolerance of the solver's optimality test.
const tolerance = 1e-10

// Sums returns the least price of machines that have, all together, what the pods ask for all
// together, in dollars per hour. What those with the same choice of machines ask for is summed up
// by itself. Constraints are left out, except that a machine holds at most one of the pods that
// repel each other by host. It is the least cost of machines x ≥ 0
// and shares y ≥ 0 of what group g asks for of resource r and machine m serves, with
//
//	Σ_m y[g,m,r] ≥ demand[g,r]   and   Σ_g y[g,m,r] ≤ room[m,r]·x[m]
//
// found by cutting planes on its dual: prices π[g,r] so that no machine has more room
// than it costs, each resource sold to the group that pays most for it. Whatever the
// solver answers, prices scaled down until they are so prove a bound. Existing nodes
// and weights are not known to it: it is for the given pods without nodes.
func Sums(w *workload.Workload, pods []*corev1.Pod) (float64, error) {
	s := newSums(w, pods)
	best, prices := 0.0, make([]float64, len(s.demand))
	for range mostCuts {
		values := s.values(prices)
		worst := 0.0
		for j, v := range values {
			worst = max(worst, v/s.machines[j].cost)
		}
		if worst > 0 {
			best = max(best, dot(s.demand, prices)/max(worst, 1))
		}
		if worst > 0 && worst <= 1+cutTolerance {
			return best, nil
		}
		s.cut(prices, values, worst)
		var err error
		if prices, err = s.solve(); err != nil {
			return best, err
		}
	}
	return best, nil
}

const (
	mostGroups    = 16
	mostCuts      = 60
	cutsPerRound  = 12
	cutTolerance  = 1e-5
	keptWithSlack = 90 // cuts, of which those far from binding are dropped
)

// kind is a machine as far as pods can tell it from others.
type kind struct {
	room   []float64
	cost   float64
	groups []int // that may be on it
}

type sums struct {
	groups   int
	names    []string
	demand   []float64 // by group and resource
	scale    []float64 // of the demand, so that all rows are alike
	machines []kind
	rows     [][]float64
	limits   []float64
}

func newSums(w *workload.Workload, pods []*corev1.Pod) *sums {
	s := &sums{}
	groups := map[string][]*corev1.Pod{}
	var order []string
	for _, p := range pods {
		key := check.Asks(p)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], p)
	}
	slices.SortStableFunc(order, func(a, b string) int { return len(groups[b]) - len(groups[a]) })
	s.groups = min(len(order), mostGroups)
	largest := largestRepulsion(pods)
	s.names = namesOf(pods, largest)
	for g := range s.groups {
		total := amount.List{}
		for _, key := range s.members(order, g) {
			for _, p := range groups[key] {
				for name, v := range requests(p, largest) {
					total[name] += v
				}
			}
		}
		for _, name := range s.names {
			s.demand = append(s.demand, float64(total[name]))
		}
	}
	s.scale = make([]float64, len(s.demand))
	for i := range s.demand {
		if s.scale[i] = s.demand[i]; s.scale[i] > 0 {
			s.demand[i] = 1
		} else {
			s.scale[i] = 1
		}
	}
	for _, m := range kindsOf(w, pods) {
		k := kind{cost: m.price.Dollars()}
		for _, name := range s.names {
			room := m.room[name]
			if name == repulsion {
				room = 1
			}
			k.room = append(k.room, float64(room))
		}
		for g := range s.groups {
			admits := func(key string) bool { return check.Admits(m.node, groups[key][0]) }
			if slices.ContainsFunc(s.members(order, g), admits) {
				k.groups = append(k.groups, g)
			}
		}
		if len(k.groups) > 0 {
			s.machines = append(s.machines, k)
		}
	}
	return s
}

// members lists the choices of a group: each has its own but the last, which may be on
// every machine that any of its pods may be on.
func (s *sums) members(order []string, g int) []string {
	if g == s.groups-1 {
		return order[g:]
	}
	return order[g : g+1]
}

func namesOf(pods []*corev1.Pod, largest string) []string {
	names := map[string]bool{}
	for _, p := range pods {
		for name := range requests(p, largest) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// sale is a machine that can be bought, with the room that DaemonSets leave.
type sale struct {
	node  *corev1.Node
	room  amount.List
	price offer.Price
}

// kindsOf lists what can be bought, of equal ones in all that pods look at the cheapest.
func kindsOf(w *workload.Workload, pods []*corev1.Pod) []sale {
	keys := selected(append(slices.Clone(pods), w.Daemons...))
	known := map[string]*sale{}
	var order []string
	for m, node := range check.ForSale(w) {
		id := m.InstanceType + "/" + m.Provisioner
		for _, key := range keys {
			id += "/" + node.Labels[key]
		}
		if of := known[id]; of == nil {
			known[id] = &sale{node: node, price: m.Price}
			order = append(order, id)
		} else {
			of.price = min(of.price, m.Price)
		}
	}
	var out []sale
	for _, id := range order {
		s := *known[id]
		s.room = check.Room(w, s.node)
		out = append(out, s)
	}
	return out
}

// selected lists the labels that pods ask for.
func selected(pods []*corev1.Pod) []string {
	keys := map[string]bool{}
	for _, p := range pods {
		for key := range p.Spec.NodeSelector {
			keys[key] = true
		}
		if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				for _, e := range t.MatchExpressions {
					keys[e.Key] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// payer returns the group that pays most for a resource of a machine, and how much
// for a unit.
func (s *sums) payer(k *kind, r int, prices []float64) (int, float64) {
	at, most := -1, 0.0
	for _, g := range k.groups {
		i := g*len(s.names) + r
		if v := prices[i] / s.scale[i]; v > most {
			at, most = i, v
		}
	}
	return at, most
}

// values returns what the room of each machine is worth.
func (s *sums) values(prices []float64) []float64 {
	out := make([]float64, len(s.machines))
	for j := range s.machines {
		k := &s.machines[j]
		for r := range s.names {
			_, price := s.payer(k, r, prices)
			out[j] += price * k.room[r]
		}
	}
	return out
}

// cut adds the machines whose room is worth most for what they cost as constraints.
// At first, when all prices are zero, each group pays for what is its own.
func (s *sums) cut(prices, values []float64, worst float64) {
	if worst == 0 {
		for i := range prices {
			alone := make([]float64, len(prices))
			alone[i] = 1
			for j, v := range s.values(alone) {
				if v > 0 {
					s.add(&s.machines[j], alone)
				}
			}
			s.prune(i)
		}
		return
	}
	order := make([]int, len(values))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := values[a]/s.machines[a].cost, values[b]/s.machines[b].cost
		if x > y {
			return -1
		}
		if x < y {
			return 1
		}
		return 0
	})
	s.forget(prices)
	for _, j := range order[:min(cutsPerRound, len(order))] {
		if values[j] > s.machines[j].cost*(1+cutTolerance) {
			s.add(&s.machines[j], prices)
		}
	}
}

func (s *sums) add(k *kind, prices []float64) {
	row := make([]float64, len(prices))
	for r := range s.names {
		if i, _ := s.payer(k, r, prices); i >= 0 {
			row[i] = k.room[r] / s.scale[i]
		}
	}
	s.rows, s.limits = append(s.rows, row), append(s.limits, k.cost)
}

// prune keeps of the rows about one price only the tightest.
func (s *sums) prune(i int) {
	best := -1
	var rows [][]float64
	var limits []float64
	for n, row := range s.rows {
		if row[i] == 0 {
			rows, limits = append(rows, row), append(limits, s.limits[n])
			continue
		}
		if best < 0 || s.limits[n]/row[i] < s.limits[best]/s.rows[best][i] {
			best = n
		}
	}
	if best >= 0 {
		rows, limits = append(rows, s.rows[best]), append(limits, s.limits[best])
	}
	s.rows, s.limits = rows, limits
}

// forget drops constraints far from binding where there are many.
func (s *sums) forget(prices []float64) {
	if len(s.rows) < keptWithSlack {
		return
	}
	var rows [][]float64
	var limits []float64
	for i, row := range s.rows {
		if i < len(s.demand) || dot(row, prices) > 0.98*s.limits[i] {
			rows, limits = append(rows, row), append(limits, s.limits[i])
		}
	}
	s.rows, s.limits = rows, limits
}

// solve returns the prices at which the demand is worth most. What nobody asks for has
// no price.
func (s *sums) solve() ([]float64, error) {
	var asked []int
	for j, d := range s.demand {
		if d > 0 && slices.ContainsFunc(s.rows, func(row []float64) bool { return row[j] > 0 }) {
			asked = append(asked, j)
		}
	}
	m, n := len(s.rows), len(asked)
	a, basis := mat.NewDense(m, n+m, nil), make([]int, m)
	limits, cost := make([]float64, m), make([]float64, n+m)
	for i, row := range s.rows {
		for k, j := range asked {
			a.Set(i, k, row[j]/s.limits[i])
		}
		a.Set(i, n+i, 1)
		basis[i] = n + i
		limits[i] = 1 + 1e-7*math.Mod(float64(i)*0.618, 1) // no ties
	}
	for k, j := range asked {
		cost[k] = -s.demand[j]
	}
	_, x, err := lp.Simplex(cost, a, limits, tolerance, basis)
	if err != nil {
		return nil, fmt.Errorf("solve a program of %d rows and %d columns: %w", m, n, err)
	}
	prices := make([]float64, len(s.demand))
	for k, j := range asked {
		prices[j] = x[k]
	}
	return prices, nil
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
