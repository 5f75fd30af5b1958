package price

import "github.com/packhorse-io/terraform-provider-packhorse/internal/amount"

// Demand is what a number of pods need together.
type Demand struct {
	total []float64
	// grain divides each single need: pods cannot use less than a whole number of
	// grains of a machine.
	grain []int64
}

// NewDemand returns the demand of no pods for so many resources.
func NewDemand(width int) *Demand {
	return &Demand{total: make([]float64, width), grain: make([]int64, width)}
}

// Reset makes it the demand of no pods.
func (d *Demand) Reset() {
	clear(d.total)
	clear(d.grain)
}

// Add adds n pods of a need.
func (d *Demand) Add(need []int64, n int64) {
	for r, v := range need {
		d.total[r] += float64(float64(v) * float64(n))
		if d.grain[r] != 1 {
			d.grain[r] = amount.GCD(v, d.grain[r])
		}
	}
}

// usable is what pods of the demand can use of a machine's room.
func (d *Demand) usable(room int64, r int) int64 {
	if d.grain[r] == 0 || room < 0 {
		return 0
	}
	return room - room%d.grain[r]
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

// Value is what a vector of resources is worth at these dual prices.
func Value(v []int64, y []float64) float64 {
	sum := 0.0
	for r, n := range v {
		if n > 0 {
			sum += float64(float64(n) * y[r])
		}
	}
	return sum
}
