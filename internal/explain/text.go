package explain

import (
	"fmt"
	"slices"
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
	if r.Pods == 0 && len(r.Machines) == 0 {
		return "No pod is waiting for a node."
	}
	text := fmt.Sprintf("%d of %s placed", r.Placed, plural(r.Pods, "pod"))
	if r.Pods == 0 {
		text = "No pod is waiting for a node"
	}
	if n := r.onNodes(); n > 0 {
		text += fmt.Sprintf(", %d of them on nodes that exist", n)
	}
	if n := len(r.Machines); n > 0 {
		text += fmt.Sprintf("; %s to buy for $%.4f per hour", plural(n, "machine"), r.HourlyPrice)
		switch {
		case r.Proof == nil:
		case r.GapPercent == 0:
			text += ", the best possible"
		default:
			text += fmt.Sprintf(", at most %.2f %% above the best possible ($%.4f)", r.GapPercent, r.LowerBound)
		}
	}
	return text + fmt.Sprintf("; decided in %s.", duration(r.Seconds))
}

// onNodes counts the pending pods that nodes get.
func (r *Report) onNodes() int {
	n := 0
	for _, b := range r.Bindings {
		if b.From == "" {
			n++
		}
	}
	return n
}

// list writes what stands below the table.
func (r *Report) list(b *strings.Builder, bullet string) {
	for _, t := range r.topics() {
		b.WriteString("\n" + t.Heading + ":\n\n")
		for _, it := range t.Items {
			b.WriteString(bullet)
			if it.Name != "" {
				b.WriteString(it.Name + ": ")
			}
			b.WriteString(it.Text + "\n")
		}
	}
}

// topics are what a plan comes to besides the table of machines.
func (r *Report) topics() []topic {
	notes := make([]item, len(r.Warnings))
	for i, w := range r.Warnings {
		notes[i].Text = w
	}
	all := slices.Concat(
		[]topic{
			{"Where pods go", r.where()},
			{"Without a place (" + plural(len(r.Unplaced), "pod") + ")", items(r.reasons())},
			{"Preferences that are not met", items(r.givenUp())},
		},
		r.retirement(),
		[]topic{{"To note", notes}},
	)
	return slices.DeleteFunc(all, func(t topic) bool { return len(t.Items) == 0 })
}

func items(list []reason) []item {
	out := make([]item, len(list))
	for i := range list {
		out[i] = item{list[i].Who(), list[i].Text}
	}
	return out
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
