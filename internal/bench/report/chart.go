package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// Charts draws the charts of the page, by file name.
func Charts(outcomes []suite.Outcome) map[string]string {
	return map[string]string{"bench-price.svg": priceChart(outcomes), "bench-speed.svg": speedChart(outcomes)}
}

// Measures of a chart in pixels.
const (
	labelWidth = 190
	plotWidth  = 480
	rowHeight  = 24
	topMargin  = 76
	bottom     = 16
	valueWidth = 130
)

// scale is a logarithmic axis.
type scale struct {
	least, most float64
	ticks       []float64
	text        func(float64) string
}

func (s scale) x(v float64) float64 {
	v = min(max(v, s.least), s.most)
	return labelWidth + plotWidth*math.Log(v/s.least)/math.Log(s.most/s.least)
}

// style is readable on light and dark pages.
const style = `<style>
text{font:12px system-ui,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:14px}.quiet{fill:#59636e}.grid{stroke:#d1d9e0}
.ours{fill:#0969da}.peer{fill:#bc4c00}.span{stroke:#818b98;stroke-width:2}.bar{stroke:#1f2328;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.grid{stroke:#3d444d}
.ours{fill:#4493f8}.peer{fill:#f0883e}.span{stroke:#656c76}.bar{stroke:#f0f6fc}}
</style>
`

// open starts a drawing with title, axis and a grid over the rows.
func open(title string, rows int, s scale) *strings.Builder {
	out := &strings.Builder{}
	height := topMargin + rows*rowHeight + bottom
	width := labelWidth + plotWidth + valueWidth
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width, height, width, height, title)
	out.WriteString(style)
	fmt.Fprintf(out, `<text class="title" x="0" y="16">%s</text>`+"\n", title)
	for _, t := range s.ticks {
		x := s.x(t)
		fmt.Fprintf(out, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text class="quiet" x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x, x, topMargin-8, height-bottom, x, topMargin-14, s.text(t))
	}
	return out
}

func label(out *strings.Builder, row int, text string) float64 {
	y := float64(topMargin + row*rowHeight + rowHeight/2)
	fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", labelWidth-12, y+4, text)
	return y
}

// value writes a row's figures to the right of the plot.
func value(out *strings.Builder, y float64, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", labelWidth+plotWidth+valueWidth-4, y+4, text)
}

func legend(out *strings.Builder, entries ...[2]string) {
	x := labelWidth
	for _, e := range entries {
		fmt.Fprintf(out, `<circle class="%s" cx="%d" cy="32" r="5"/><text class="quiet" x="%d" y="36">%s</text>`+"\n", e[0], x+5, x+15, e[1])
		x += 30 + 8*len(e[1])
	}
}

// priceChart shows how far prices are above the bound, ours and the peer's.
func priceChart(outcomes []suite.Outcome) string {
	drawn := withPeer(outcomes)
	s := scale{least: 0.01, most: 1000, ticks: []float64{0.01, 0.1, 1, 10, 100, 1000}, text: func(v float64) string { return fmt.Sprintf("%g %%", v) }}
	out := open("Price above the proven bound (logarithmic)", len(drawn), s)
	legend(out, [2]string{"ours", "Packhorse"}, [2]string{"peer", "Karpenter"})
	for row, o := range drawn {
		y := label(out, row, o.Case)
		a, b := s.x(100*o.Gap()), s.x(100*o.PeerGap())
		fmt.Fprintf(out, `<line class="span" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", a, b, y, y)
		fmt.Fprintf(out, `<circle class="peer" cx="%.1f" cy="%.1f" r="5"><title>Karpenter: %s</title></circle>`+"\n", b, y, percent(o.PeerGap()))
		fmt.Fprintf(out, `<circle class="ours" cx="%.1f" cy="%.1f" r="5"><title>Packhorse: %s</title></circle>`+"\n", a, y, percent(o.Gap()))
		value(out, y, fmt.Sprintf("%.1f · %.0f %%", 100*o.Gap(), 100*o.PeerGap()))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// speedChart shows how many times less processor time we take than the peer, and
// the bar that was set.
func speedChart(outcomes []suite.Outcome) string {
	drawn := withPeer(outcomes)
	s := scale{least: 1, most: 100_000, ticks: []float64{1, 10, 100, 1000, 10_000, 100_000}, text: func(v float64) string { return thousands(int(v)) + "×" }}
	out := open("Speed against Karpenter: processor time, logarithmic; the mark is the bar", len(drawn), s)
	for row, o := range drawn {
		y := label(out, row, o.Case)
		x := s.x(o.Ratio)
		fmt.Fprintf(out, `<rect class="ours" x="%d" y="%.1f" width="%.1f" height="12" rx="2"/>`+"\n", labelWidth, y-6, x-labelWidth)
		value(out, y, thousands(int(math.Round(o.Ratio)))+"×")
		if c := suite.Find(o.Case); c != nil && c.Bars.Speed > 0 {
			fmt.Fprintf(out, `<line class="bar" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", s.x(c.Bars.Speed), s.x(c.Bars.Speed), y-9, y+9)
		}
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func withPeer(outcomes []suite.Outcome) []*suite.Outcome {
	var out []*suite.Outcome
	for i := range outcomes {
		if outcomes[i].Peer != nil {
			out = append(out, &outcomes[i])
		}
	}
	return out
}
