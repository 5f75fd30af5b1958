package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// tradeHeight is that of the picture's area in pixels, pointSize the radius of a point.
const tradeHeight, pointSize = 260.0, 4.0

// Tradeoff draws what policies made of a timeline as SVG: what they paid above the bound over how many
// pods they evicted. Ours, with several costs of an eviction, are joined by a line.
func Tradeoff(ours, others []*Result) string {
	paid := func(r *Result) float64 { return 100 * (r.Ratio() - 1) }
	price, rate := 1.0, 0.01
	for _, r := range slices.Concat(ours, others) {
		price, rate = max(price, 1.1*paid(r)), max(rate, 1.3*r.Rate()) // with room for the names
	}
	all := slices.Concat(ours, others)
	out := begin(all[0].Timeline+": price and evictions", chartTop+tradeHeight+40)
	per := "pod and day"
	if !all[0].ByPodDay {
		per = "pod that stays"
	}
	fmt.Fprintf(out, `<text class="quiet" x="0" y="40">price above the bound in %%, over evictions for each %s</text>`+"\n", per)
	axis(out, chartTop, tradeHeight, price)
	x := func(v float64) float64 { return chartLeft + chartWidth*v/rate }
	y := func(v float64) float64 { return chartTop + tradeHeight*(1-v/price) }
	for v := 0.0; v <= rate; v += between(rate) {
		fmt.Fprintf(out, `<text class="quiet" x="%.1f" y="%g" text-anchor="middle">%.3g</text>`+"\n", x(v), chartTop+tradeHeight+18, v)
	}
	line := slices.SortedFunc(slices.Values(ours), func(a, b *Result) int { return cmp.Compare(a.Rate(), b.Rate()) })
	if len(line) > 0 {
		out.WriteString(`<path class="price" d="`)
	}
	for i, r := range line {
		fmt.Fprintf(out, "%c%.1f %.1f", "ML"[min(i, 1)], x(r.Rate()), y(paid(r)))
	}
	if len(line) > 0 {
		out.WriteString("\"/>\n")
	}
	point := func(class string, r *Result) {
		fmt.Fprintf(out, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"/><text x="%.1f" y="%.1f">%s</text>`+"\n",
			class, x(r.Rate()), y(paid(r)), pointSize, x(r.Rate())+2*pointSize, y(paid(r))-pointSize, short(r.Policy))
	}
	for _, r := range ours {
		point("ours", r)
	}
	for _, r := range others {
		point("other", r)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// short is a policy's name without its owner's.
func short(policy string) string {
	_, name, found := strings.Cut(policy, ", ")
	if !found {
		return policy
	}
	return name
}
