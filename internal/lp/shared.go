package lp

import (
	"cmp"
	"slices"
)

// SharedResources is the program of buying machines for groups that share resources: what group g
// asks for of resource r is divided among machines m on which it may be,
//
//	minimise   Σ cost[m]·x[m]
//	subject to Σ_m y[g,m,r] ≥ Demand[g][r]   and   Σ_g y[g,m,r] ≤ room[m][r]·x[m]
//
// so that groups that may be on different machines are priced apart, and yet the memory
// that one of them leaves serves another. A column is a machine each of whose resources
// serves one group (Dantzig and Wolfe 1960): the one that pays most for it.
type SharedResources struct {
	Demand   [][]float64 // by group and resource
	Machines []Machine
}

// Machine is what can be bought, in any number.
type Machine struct {
	Room   []float64
	Cost   float64
	Groups []int // that may be on it, ascending
}

const (
	// mostRounds bounds how often columns are generated.
	mostRounds = 200
	// perRound is how many columns are added at a time.
	perRound = 8
	// closeTo is how close to the optimum a solution may end.
	closeTo = 1e-6
)

// Prices returns a price for each group and resource so that no machine's room, each
// resource sold to the group that pays most, is worth more than the machine costs, and
// what the demand is worth at them: no set of machines that serves it costs less. The
// prices are as high as that allows, or nearly, unless so many operations are used up before:
// where several bases are one solution, the simplex method may go round in a circle of them.
// A demand that no machine serves is worth nothing.
func (s *SharedResources) Prices(operations int) (prices [][]float64, proven float64) {
	width := 0
	if len(s.Demand) > 0 {
		width = len(s.Demand[0])
	}
	rows, number := s.rows(width)
	best := make([]float64, len(rows))
	if len(rows) > 0 {
		best, proven = s.generate(rows, number, width, operations)
	}
	prices = make([][]float64, len(s.Demand))
	for g := range prices {
		prices[g] = make([]float64, width)
		for r := range prices[g] {
			if i := number[g][r]; i >= 0 {
				prices[g][r] = best[i] / s.Demand[g][r]
			}
		}
	}
	return prices, proven
}

// row is a demand that some machine serves.
type row struct{ group, resource int }

func (s *SharedResources) rows(width int) (rows []row, number [][]int) {
	served := make([][]bool, len(s.Demand))
	for g := range served {
		served[g] = make([]bool, width)
	}
	for i := range s.Machines {
		m := &s.Machines[i]
		for _, g := range m.Groups {
			for r, v := range m.Room {
				served[g][r] = served[g][r] || v > 0
			}
		}
	}
	number = make([][]int, len(s.Demand))
	for g := range s.Demand {
		number[g] = make([]int, width)
		for r, d := range s.Demand[g] {
			if number[g][r] = -1; d > 0 && served[g][r] {
				number[g][r] = len(rows)
				rows = append(rows, row{g, r})
			}
		}
	}
	return rows, number
}

// generate solves the program with all demands scaled to 1, and returns the duals that
// prove most: all prove something.
func (s *SharedResources) generate(rows []row, number [][]int, width, operations int) (best []float64, proven float64) {
	demand := make([]float64, len(rows))
	for i := range demand {
		demand[i] = 1
	}
	c := NewCovering(demand)
	c.Start(s.alone(rows))
	best = make([]float64, len(rows))
	value, order := make([]float64, len(s.Machines)), make([]int, len(s.Machines))
	for range mostRounds {
		operations = c.Optimise(operations, 0)
		most := 0.0
		for m := range s.Machines {
			value[m], order[m] = s.value(m, c.Dual, number, width)/s.Machines[m].Cost, m
			most = max(most, value[m])
		}
		total := 0.0
		for _, w := range c.Dual {
			total += max(0, w)
		}
		if most > 0 && total/most > proven {
			proven = total / most
			for i, w := range c.Dual {
				best[i] = max(0, w) / most
			}
		}
		if most <= 1+closeTo || operations <= 0 {
			break
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value[b], value[a]) })
		for _, m := range order[:min(perRound, len(order))] {
			if value[m] > 1+closeTo {
				c.Add(s.column(m, c.Dual, number, width))
			}
		}
	}
	return best, proven
}

// alone returns for each row the machine that serves it at the least cost if all else
// of it is left.
func (s *SharedResources) alone(rows []row) []Column {
	out := make([]Column, len(rows))
	for i, of := range rows {
		for m := range s.Machines {
			machine := &s.Machines[m]
			if n := machine.Room[of.resource] / s.Demand[of.group][of.resource]; n > 0 && slices.Contains(machine.Groups, of.group) &&
				(out[i].Cost == 0 || machine.Cost/n < out[i].Cost/out[i].Entries[0].N) {
				out[i] = Column{Entries: []Entry{{i, n}}, Cost: machine.Cost}
			}
		}
	}
	return out
}

// payer returns the row of the group that pays most for a resource of a machine, or -1,
// and what it pays for a unit.
func (s *SharedResources) payer(m, r int, dual []float64, number [][]int) (at int, price float64) {
	at = -1
	for _, g := range s.Machines[m].Groups {
		if i := number[g][r]; i >= 0 {
			if p := dual[i] / s.Demand[g][r]; p > price {
				at, price = i, p
			}
		}
	}
	return at, price
}

// value is what the room of a machine is worth.
func (s *SharedResources) value(m int, dual []float64, number [][]int, width int) float64 {
	sum := 0.0
	for r := range width {
		_, price := s.payer(m, r, dual, number)
		sum += float64(price * s.Machines[m].Room[r])
	}
	return sum
}

func (s *SharedResources) column(m int, dual []float64, number [][]int, width int) Column {
	out := Column{Cost: s.Machines[m].Cost}
	for r := range width {
		if i, price := s.payer(m, r, dual, number); i >= 0 && s.Machines[m].Room[r] > 0 {
			out.Entries = append(out.Entries, Entry{i, s.Machines[m].Room[r] * price / max(dual[i], 1e-300)})
		}
	}
	return out
}
