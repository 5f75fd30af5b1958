package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Text renders the report for a terminal, without colour.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.headline() + "\n")
	if len(r.Machines) > 0 {
		b.WriteByte('\n')
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "count\tprovisioner\ttype\tzone\tbought\t$/hour each\tpods\tCPU\tmemory\trunner-up")
		for _, row := range r.rows() {
			_, _ = fmt.Fprintln(w, strings.Join(row.cells(), "\t"))
		}
		_ = w.Flush()
	}
	r.list(&b, "  ")
	return b.String()
}

// Markdown renders the report for a pull request.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString(r.headline() + "\n")
	if len(r.Machines) > 0 {
		b.WriteString("\n| count | provisioner | type | zone | bought | $/hour each | pods | CPU | memory | runner-up |\n| ---: | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |\n")
		for _, row := range r.rows() {
			b.WriteString("| " + strings.Join(row.cells(), " | ") + " |\n")
		}
	}
	r.list(&b, "- ")
	return b.String()
}

// headline says in one sentence what the plan comes to.
func (r *Report) headline() string {
	if r.Pods == 0 {
		return "No pod is waiting for a node."
	}
	text := fmt.Sprintf("%d of %s placed", r.Placed, plural(r.Pods, "pod"))
	if n := len(r.Bindings); n > 0 {
		text += fmt.Sprintf(", %d of them on nodes that exist", n)
	}
	if n := len(r.Machines); n > 0 {
		text += fmt.Sprintf("; %s to buy for $%.4f per hour", plural(n, "machine"), r.HourlyPrice)
		if r.LowerBound > 0 {
			text += fmt.Sprintf(", at most %.2f %% above the best possible ($%.4f)", r.GapPercent, r.LowerBound)
		}
	}
	return text + fmt.Sprintf("; decided in %s.", duration(r.Seconds))
}

// list writes what stands below the table: unplaced pods and warnings.
func (r *Report) list(b *strings.Builder, bullet string) {
	if len(r.Unplaced) > 0 {
		_, _ = fmt.Fprintf(b, "\nWithout a place: %s\n\n", plural(len(r.Unplaced), "pod"))
		for _, why := range r.reasons() {
			_, _ = fmt.Fprintf(b, "%s%s: %s\n", bullet, why.Who(), why.Text)
		}
	}
	if given := r.givenUp(); len(given) > 0 {
		b.WriteString("\nPreferences that are not met:\n\n")
		for _, g := range given {
			_, _ = fmt.Fprintf(b, "%s%s: %s\n", bullet, g.Who(), g.Text)
		}
	}
	if len(r.Warnings) > 0 {
		b.WriteString("\nTo note:\n\n")
		for _, w := range r.Warnings {
			b.WriteString(bullet + w + "\n")
		}
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

func duration(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.1f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
