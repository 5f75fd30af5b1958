package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/amount"

// demand is what a number of pods need together.
type demand struct {
	total []float64
	// grain divides each single need: pods cannot use less than a whole number of
	// grains of a machine.
	grain []int64
}

func newDemand(width int) *demand {
	return &demand{total: make([]float64, width), grain: make([]int64, width)}
}

func (d *demand) add(need []int64, n int64) {
	for r, v := range need {
		d.total[r] += float64(float64(v) * float64(n))
		d.grain[r] = amount.GCD(d.grain[r], v)
	}
}

// usable is what pods of the demand can use of a machine's room.
func (d *demand) usable(room int64, r int) int64 {
	if d.grain[r] == 0 || room < 0 {
		return 0
	}
	return room - room%d.grain[r]
}

func (d *demand) worthOfRoom(room []int64, y []float64) float64 {
	sum := 0.0
	for r, n := range room {
		sum += float64(float64(d.usable(n, r)) * y[r])
	}
	return sum
}

// worthOf returns the worth of a unit of each resource for a demand, given the
// columns that may be bought. Resources that nobody needs are worth nothing.
func (s *solver) worthOf(d *demand, columns []int, nodeCost int64) []float64 {
	var names []int
	for r, total := range d.total {
		if total > 0 {
			names = append(names, r)
		}
	}
	// Scaled so that all figures are of the same order.
	scale := make([]float64, len(names))
	for _, k := range columns {
		for j, r := range names {
			scale[j] = max(scale[j], float64(min(s.columns[k].room[r], plenty)))
		}
	}
	s.tableau.reset(len(names))
	seen := newBitset(len(s.shapes))
	for _, k := range columns {
		col := &s.columns[k]
		if seen.has(col.number) {
			continue // the same room for more: columns are sorted by price
		}
		seen.add(col.number)
		row := s.tableau.add(float64(col.price+nodeCost) / 1e6)
		for j, r := range names {
			if scale[j] > 0 {
				row[j] = float64(d.usable(col.room[r], r)) / scale[j]
			}
		}
	}
	scaled := make([]float64, len(names))
	for j, r := range names {
		if scale[j] > 0 {
			scaled[j] = d.total[r] / scale[j]
		}
	}
	normalise(scaled)
	y := make([]float64, len(d.total))
	for j, v := range s.tableau.solve(scaled) {
		if scale[j] > 0 {
			y[names[j]] = v * 1e6 / scale[j]
		}
	}
	return y
}

func normalise(v []float64) {
	largest := 0.0
	for _, x := range v {
		largest = max(largest, x)
	}
	for i := range v {
		if largest > 0 {
			v[i] /= largest
		}
	}
}

func worthOfVector(v []int64, y []float64) float64 {
	sum := 0.0
	for r, n := range v {
		if n > 0 {
			sum += float64(float64(n) * y[r])
		}
	}
	return sum
}
