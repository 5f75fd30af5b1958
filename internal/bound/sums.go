package bound

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// mostGroups bounds the choices that are priced apart: each is a row for each resource.
// Classes of those with the fewest pods are one group beyond it, which may be wherever
// one of them may be.
const mostGroups = 40

// sumsOperations bounds the operations for the prices of so many groups, which rarely take a quarter as many.
const sumsOperations = 1_000_000_000

// sums prices what all pods of a choice need together, as if pods and machines could be
// divided: what only expensive offerings can serve is worth what it costs there, and the
// room that it leaves serves others (see lp.SharedResources). It returns the value of a pod of each
// class, and what is proven by that: nodes may be worth all that their room is.
func (p *Problem) sums(offerings []int) (values []float64, total float64) {
	groups := p.grouped()
	grain := p.grain()
	program := lp.SharedResources{Machines: make([]lp.Machine, 0, len(offerings))}
	for i, c := range p.Classes {
		for groups[i] >= len(program.Demand) {
			program.Demand = append(program.Demand, make([]float64, len(grain)))
		}
		for r, v := range c.Need {
			program.Demand[groups[i]][r] += float64(float64(v) * float64(c.Count))
		}
	}
	for _, o := range offerings {
		of := &p.Offerings[o]
		m := lp.Machine{Cost: float64(of.Price)}
		for r, v := range of.Room {
			m.Room = append(m.Room, float64(usable(v, grain[r])))
		}
		for i := range p.Classes {
			if p.Choices[p.Classes[i].Choice].Has(o) && !slices.Contains(m.Groups, groups[i]) {
				m.Groups = append(m.Groups, groups[i])
			}
		}
		slices.Sort(m.Groups)
		program.Machines = append(program.Machines, m)
	}
	prices, total := program.Prices(sumsOperations)
	values = make([]float64, len(p.Classes))
	for i, c := range p.Classes {
		for r, v := range c.Need {
			values[i] += float64(float64(v) * prices[groups[i]][r])
		}
	}
	for _, n := range p.Nodes {
		for r, v := range n.Room {
			most := 0.0
			for _, price := range prices {
				most = max(most, price[r])
			}
			total -= float64(most * float64(max(0, v)))
		}
	}
	return values, total * lp.Safety
}

// grouped numbers the groups of the classes.
func (p *Problem) grouped() []int {
	pods, order := make([]int64, len(p.Choices)), make([]int, len(p.Choices))
	for _, c := range p.Classes {
		pods[c.Choice] += c.Count
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pods[b], pods[a]) })
	number := make([]int, len(p.Choices))
	for place, choice := range order {
		number[choice] = min(place, mostGroups)
	}
	out := make([]int, len(p.Classes))
	for i, c := range p.Classes {
		out[i] = number[c.Choice]
	}
	return out
}

// grain returns, by resource, what divides all needs: pods cannot use less of a machine.
func (p *Problem) grain() []int64 {
	out := make([]int64, len(p.Classes[0].Need))
	for _, c := range p.Classes {
		for r, v := range c.Need {
			out[r] = amount.GCD(v, out[r])
		}
	}
	return out
}

func usable(room, grain int64) int64 {
	if grain == 0 || room < 0 {
		return 0
	}
	return room - room%grain
}
