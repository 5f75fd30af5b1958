package suite

import (
	"math"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
)

// Outcome is what all runs of a case say together: the last run's plan, which is
// the same each time, with the medians of the times.
type Outcome struct {
	Run
	Runs int `json:"runs"`
	// Ratio is the median over the runs of the peer's processor time by ours, each
	// pair from one process; 0 without the peer. WallRatio is that of elapsed time.
	Ratio     float64 `json:"processorTimeRatio,omitempty"`
	WallRatio float64 `json:"wallTimeRatio,omitempty"`
	// Borrowed: the peer's result is from an earlier measurement.
	Borrowed bool `json:"borrowed,omitempty"`
}

// Combine takes the medians of runs of one case.
func Combine(runs []*Run) Outcome {
	last := *runs[len(runs)-1]
	out := Outcome{Run: last, Runs: len(runs)}
	combined := *last.Ours
	combined.Time = combine(runs, func(r *Run) *Result { return r.Ours })
	out.Ours = &combined
	var cpu, wall []float64
	for _, r := range runs {
		if r.Peer != nil {
			cpu = append(cpu, seconds(r.Peer.Time.Typical.CPU)/seconds(r.Ours.Time.Typical.CPU))
			wall = append(wall, seconds(r.Peer.Time.Typical.Wall)/seconds(r.Ours.Time.Typical.Wall))
		}
	}
	if last.Peer != nil {
		combined := *last.Peer
		combined.Time = combine(runs, func(r *Run) *Result { return r.Peer })
		out.Peer = &combined
		out.Ratio, out.WallRatio = middle(cpu), middle(wall)
	}
	return out
}

func combine(runs []*Run, of func(*Run) *Result) measure.Series {
	var first, typical []measure.Sample
	out := measure.Series{}
	for _, r := range runs {
		if of(r) == nil {
			continue
		}
		first, typical = append(first, of(r).Time.First), append(typical, of(r).Time.Typical)
		out.Times += of(r).Time.Times
	}
	out.First, out.Typical = measure.Medians(first), measure.Medians(typical)
	return out
}

// Bound is the better one of both bounds, in dollars per hour.
func (o *Outcome) Bound() float64 { return max(o.Proven, o.Solved) }

// Gap is our price above the bound, as a share of it; 0 where nothing is bought.
func (o *Outcome) Gap() float64 { return gap(o.Ours.Price, o.Bound()) }

// PeerGap is the same of the peer's price.
func (o *Outcome) PeerGap() float64 { return gap(o.Peer.Price, o.Bound()) }

func gap(price, bound float64) float64 {
	switch {
	case price <= bound:
		return 0
	case bound <= 0:
		return math.Inf(1)
	}
	return price/bound - 1
}

// Borrow takes the peer's result, where it was not measured, from an earlier
// measurement of the same case.
func (o *Outcome) Borrow(earlier []Outcome) {
	if o.Peer != nil {
		return
	}
	for i := range earlier {
		e := &earlier[i]
		if e.Case != o.Case || e.Peer == nil || e.Pods != o.Pods || e.Classes != o.Classes || e.Types != o.Types {
			continue
		}
		o.Peer, o.Borrowed = e.Peer, true
		o.Ratio = seconds(e.Peer.Time.Typical.CPU) / seconds(o.Ours.Time.Typical.CPU)
		o.WallRatio = seconds(e.Peer.Time.Typical.Wall) / seconds(o.Ours.Time.Typical.Wall)
		return
	}
}
