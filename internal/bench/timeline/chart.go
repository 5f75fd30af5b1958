package timeline

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Measures of a picture in pixels.
const (
	chartWidth, chartLeft, chartTop = 640.0, 52.0, 56.0
	priceHeight, rateHeight, gap    = 180.0, 90.0, 34.0
)

// chartStyle is readable on light and dark pages.
const chartStyle = `<style>
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:14px}.quiet{fill:#59636e}.grid{stroke:#d1d9e0}
path{fill:none;stroke-width:2}.price{stroke:#0969da}.bound{stroke:#818b98}.evicted{stroke:#bc4c00}.ours{fill:#0969da}.other{fill:#bc4c00}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.grid{stroke:#3d444d}
.price{stroke:#4493f8}.bound{stroke:#656c76}.evicted{stroke:#f0883e}.ours{fill:#4493f8}.other{fill:#f0883e}}
</style>
`

// Chart draws a result as SVG: the price of the nodes and the bound over time, and below them
// how many pods have been evicted.
func (r *Result) Chart() string {
	last := r.Points[len(r.Points)-1]
	price, evictions := 0.0, 1.0
	for _, p := range r.Points {
		price, evictions = max(price, p.Price), max(evictions, float64(p.Evictions))
	}
	low := chartTop + priceHeight + gap
	out := begin(fmt.Sprintf("%s: %.3f times the bound, %.2f evictions", r.Timeline, r.Ratio(), r.Rate()), low+rateHeight+28)
	fmt.Fprintf(out, `<text class="quiet" x="0" y="40">dollars per hour: nodes (blue), bound (grey)</text>`+"\n")
	fmt.Fprintf(out, `<text class="quiet" x="0" y="%g">evicted pods (orange)</text>`+"\n", low-8)
	axis(out, chartTop, priceHeight, price)
	axis(out, low, rateHeight, evictions)
	hours(out, low+rateHeight, last.At)
	for _, line := range []struct {
		class             string
		top, height, most float64
		value             func(*Point) float64
	}{
		{"bound", chartTop, priceHeight, price, func(p *Point) float64 { return p.Bound }},
		{"price", chartTop, priceHeight, price, func(p *Point) float64 { return p.Price }},
		{"evicted", low, rateHeight, evictions, func(p *Point) float64 { return float64(p.Evictions) }},
	} {
		fmt.Fprintf(out, `<path class="%s" d="`, line.class)
		for i := range r.Points {
			p := &r.Points[i]
			x := chartLeft + chartWidth*float64(p.At)/float64(last.At)
			fmt.Fprintf(out, "%c%.1f %.1f", "ML"[min(i, 1)], x, line.top+line.height*(1-line.value(p)/line.most))
		}
		out.WriteString("\"/>\n")
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// begin begins a picture.
func begin(title string, height float64) *strings.Builder {
	out := &strings.Builder{}
	width := chartLeft + chartWidth + 8
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n", width, height, width, height, title)
	out.WriteString(chartStyle)
	fmt.Fprintf(out, `<text class="title" x="0" y="16">%s</text>`+"\n", title)
	return out
}

// between is the distance of round values up to the most.
func between(most float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, finer := range []float64{2, 2.5} {
		if most/step < 3 {
			step /= finer
		}
	}
	return step
}

// axis draws lines at round values.
func axis(out *strings.Builder, top, height, most float64) {
	for v := 0.0; v <= most; v += between(most) {
		y := top + height*(1-v/most)
		fmt.Fprintf(out, `<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text class="quiet" x="%g" y="%.1f" text-anchor="end">%.4g</text>`+"\n",
			chartLeft, chartLeft+chartWidth, y, y, chartLeft-6, y+4, v)
	}
}

// hours marks the time below the picture.
func hours(out *strings.Builder, y float64, length time.Duration) {
	step := max(time.Hour, (length / 8).Round(time.Hour))
	for at := time.Duration(0); at <= length; at += step {
		fmt.Fprintf(out, `<text class="quiet" x="%.1f" y="%g" text-anchor="middle">%g h</text>`+"\n",
			chartLeft+chartWidth*float64(at)/float64(length), y+18, at.Hours())
	}
}
