// Package report tells what was measured: as a table for a terminal, as a page
// and as charts.
package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// Text is the table for a terminal, followed by the bars that were missed.
func Text(outcomes []suite.Outcome) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "case\tpods\tclasses\ttypes\tCPU\tpeer\tspeed\tmachines\tpeer\t$/h\tpeer\tbound\tgap\tpeer\tpeak\tpeer\tbars\t")
	var missed []string
	for i := range outcomes {
		o := &outcomes[i]
		fmt.Fprintln(w, strings.Join(append(cells(o), marks(o, outcomes)), "\t")+"\t")
		for _, v := range verdicts(o, outcomes) {
			if !v.Met && !v.Unknown {
				missed = append(missed, fmt.Sprintf("%s: %s, got %s", o.Case, v.Bar, v.Got))
			}
		}
		for _, f := range faults(o) {
			missed = append(missed, o.Case+": "+f)
		}
	}
	_ = w.Flush() // a Builder takes everything
	if len(missed) > 0 {
		fmt.Fprintf(&out, "\nmissed:\n  %s\n", strings.Join(missed, "\n  "))
	}
	return out.String()
}

// cells are the figures of one case, in the order of the table.
func cells(o *suite.Outcome) []string {
	out := []string{
		o.Case, thousands(o.Pods), thousands(o.Classes), thousands(o.Types),
		clock(o.Ours.Time.Typical.CPU), "–", "–",
		thousands(o.Ours.Machines), "–", money(o.Ours.Price), "–", money(o.Bound()),
		percent(o.Gap()), "–", mebibytes(o.Ours.Time.First.Peak), "–",
	}
	if p := o.Peer; p != nil {
		out[5], out[6] = clock(p.Time.Typical.CPU), thousands(int(math.Round(o.Ratio)))+"×"
		out[8], out[10] = thousands(p.Machines), money(p.Price)
		out[13], out[15] = percent(o.PeerGap()), mebibytes(p.Time.First.Peak)
		if o.Borrowed {
			out[5] += "†"
		}
	}
	return out
}

func verdicts(o *suite.Outcome, all []suite.Outcome) []suite.Verdict {
	c := suite.Find(o.Case)
	if c == nil {
		return nil
	}
	return c.Verdicts(o, all)
}

func marks(o *suite.Outcome, all []suite.Outcome) string {
	var out strings.Builder
	for _, v := range verdicts(o, all) {
		out.WriteString(v.Mark())
	}
	return out.String()
}

// maxFaults bounds how many faults of one plan are listed.
const maxFaults = 3

func faults(o *suite.Outcome) []string {
	var out []string
	tell := func(who string, r *suite.Result) {
		for i, f := range r.Faults {
			if i == maxFaults {
				out = append(out, fmt.Sprintf("%s: and %d more", who, len(r.Faults)-i))
				break
			}
			out = append(out, who+": "+f)
		}
		if r.Unplaced > 0 {
			out = append(out, fmt.Sprintf("%s: %d pods have no place", who, r.Unplaced))
		}
	}
	tell("Packhorse", o.Ours)
	if o.Peer != nil {
		tell("the peer", o.Peer)
	}
	return out
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func clock(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func money(dollars float64) string {
	if dollars < 10 {
		return fmt.Sprintf("%.4f", dollars)
	}
	return fmt.Sprintf("%.2f", dollars)
}

func percent(share float64) string {
	if math.IsInf(share, 1) {
		return "∞"
	}
	return fmt.Sprintf("%.2f %%", 100*share)
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
