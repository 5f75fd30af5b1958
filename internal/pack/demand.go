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

func (d *demand) reset() {
	clear(d.total)
	clear(d.grain)
}

func (d *demand) add(need []int64, n int64) {
	for r, v := range need {
		d.total[r] += float64(float64(v) * float64(n))
		if d.grain[r] != 1 {
			d.grain[r] = amount.GCD(v, d.grain[r])
		}
	}
}

// usable is what pods of the demand can use of a machine's room.
func (d *demand) usable(room int64, r int) int64 {
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

func worthOfVector(v []int64, y []float64) float64 {
	sum := 0.0
	for r, n := range v {
		if n > 0 {
			sum += float64(float64(n) * y[r])
		}
	}
	return sum
}
