package suite

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// Verdict is one bar and whether it was reached.
type Verdict struct {
	Bar string `json:"bar"`
	Got string `json:"got"`
	Met bool   `json:"met"`
	// Unknown: what the bar compares with was not measured.
	Unknown bool `json:"unknown,omitempty"`
}

// Mark is a verdict in one character.
func (v *Verdict) Mark() string {
	switch {
	case v.Unknown:
		return "?"
	case v.Met:
		return "✓"
	}
	return "✗"
}

// Verdicts compares an outcome with its bars; all are the outcomes of the same measurement, of
// which the growth is taken.
func (c *Case) Verdicts(o *Outcome, all []Outcome) []Verdict {
	out := []Verdict{
		{Bar: "feasible", Got: counted(len(o.Ours.Faults), "fault"), Met: len(o.Ours.Faults) == 0},
		{Bar: "all placed", Got: counted(o.Ours.Unplaced, "pod") + " left", Met: o.Ours.Unplaced == 0 || o.Peer != nil && o.Ours.Unplaced <= o.Peer.Unplaced},
	}
	out = append(out, c.againstPeer(o)...)
	if limit := c.Bars.Gap; limit > 0 {
		bar := fmt.Sprintf("price ≤ bound + %.4g %%", 100*limit)
		if limit < roundingError*10 {
			bar = "the optimum"
		}
		out = append(out, Verdict{Bar: bar, Got: fmt.Sprintf("+%.2f %%", 100*o.Gap()), Met: o.Gap() <= limit})
	}
	if limit := c.Bars.Machines; limit > 0 {
		out = append(out, Verdict{Bar: fmt.Sprintf("machines ≤ %d", limit), Got: strconv.Itoa(o.Ours.Machines), Met: o.Ours.Machines <= limit})
	}
	if limit := c.Bars.Wall; limit > 0 {
		out = append(out, within("time < ", limit, o.Ours.Time.Typical.Wall))
	}
	if limit := c.Bars.Cold; limit > 0 {
		out = append(out, within("cold < ", limit, o.Ours.Time.First.Wall))
	}
	if limit := c.Bars.Peak; limit > 0 {
		got := o.Ours.Time.First.Peak
		out = append(out, Verdict{Bar: "memory < " + megabytes(limit), Got: megabytes(got), Met: got < limit, Unknown: got == 0})
	}
	if limit := c.Bars.Exponent; limit > 0 {
		out = append(out, growth(limit, all)...)
	}
	return out
}

// againstPeer holds for every case with a peer: the price is never above its, unless more pods are served for that.
func (c *Case) againstPeer(o *Outcome) []Verdict {
	if c.Alone {
		return nil
	}
	speed := Verdict{Bar: fmt.Sprintf("speed ≥ %g×", c.Bars.Speed), Got: "not measured", Unknown: true}
	price := Verdict{Bar: "price ≤ peer's", Got: "not measured", Unknown: true}
	machines := Verdict{Bar: "machines ≤ peer's", Got: "not measured", Unknown: true}
	if p := o.Peer; p != nil {
		speed = Verdict{Bar: speed.Bar, Got: fmt.Sprintf("%.0f×", o.Ratio), Met: o.Ratio >= c.Bars.Speed}
		more := p.Unplaced - o.Ours.Unplaced
		price = Verdict{Bar: price.Bar, Got: fmt.Sprintf("%.1f %%", 100*o.Ours.Price/p.Price), Met: o.Ours.Price <= p.Price*(1+roundingError) || more > 0}
		if more > 0 {
			price.Got += fmt.Sprintf(" with %s more", counted(more, "pod"))
		}
		machines = Verdict{Bar: machines.Bar, Got: fmt.Sprintf("%d of %d", o.Ours.Machines, p.Machines), Met: o.Ours.Machines <= p.Machines}
	}
	out := []Verdict{price}
	if c.Bars.Speed > 0 {
		out = append(out, speed)
	}
	if c.Bars.MachinesOfPeer {
		out = append(out, machines)
	}
	return out
}

func within(text string, limit, got time.Duration) Verdict {
	return Verdict{Bar: text + limit.String(), Got: got.Round(10 * time.Microsecond).String(), Met: got < limit}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func megabytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }

// growth fits t = a·n^e to the growth cases by least squares of the logarithms,
// for processor time and for allocated memory.
func growth(limit float64, all []Outcome) []Verdict {
	var pods, cpu, memory []float64
	for i := range all {
		if c := Find(all[i].Case); c != nil && c.Growth {
			pods = append(pods, float64(all[i].Pods))
			cpu = append(cpu, seconds(all[i].Ours.Time.Typical.CPU))
			memory = append(memory, float64(all[i].Ours.Time.Typical.Allocated))
		}
	}
	verdict := func(what string, values []float64) Verdict {
		v := Verdict{Bar: fmt.Sprintf("%s ≤ n^%g", what, limit), Got: "not measured", Unknown: true}
		if len(values) > 1 {
			e := exponent(pods, values)
			v = Verdict{Bar: v.Bar, Got: fmt.Sprintf("n^%.2f", e), Met: e <= limit}
		}
		return v
	}
	return []Verdict{verdict("time", cpu), verdict("memory", memory)}
}

// exponent is the slope of the regression line of log y over log x.
func exponent(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	n := float64(len(x))
	for i := range x {
		a, b := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+a, sy+b, sxx+a*a, sxy+a*b
	}
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)/2]
}
