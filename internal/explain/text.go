package explain

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Text renders the report for a terminal, without colour.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.headline() + "\n")
	if len(r.Machines) > 0 {
		b.WriteByte('\n')
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(w, "count\tprovisioner\ttype\tzone\tbought\t$/hour each\tpods\tCPU\tmemory\trunner-up")
		for _, row := range r.Rows() {
			_, _ = fmt.Fprintln(w, strings.Join(row.Cells(), "\t"))
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
		for _, row := range r.Rows() {
			b.WriteString("| " + strings.Join(row.Cells(), " | ") + " |\n")
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
	text := fmt.Sprintf("%d of %s placed", r.Placed, Plural(r.Pods, "pod"))
	if r.Pods == 0 {
		text = "No pod is waiting for a node"
	}
	if n := r.onNodes(); n > 0 {
		text += fmt.Sprintf(", %d of them on existing nodes", n)
	}
	if n := len(r.Machines); n > 0 {
		text += fmt.Sprintf("; %s to buy for $%.4f per hour", Plural(n, "machine"), r.HourlyPrice)
		switch {
		case r.Proof == nil:
		case r.GapPercent == 0:
			text += ", the best possible"
		default:
			text += fmt.Sprintf(", at most %.2f %% above the best possible ($%.4f)", r.GapPercent, r.LowerBound)
		}
	}
	if r.Seconds > 0 { // it was measured
		text += "; decided in " + Duration(r.Seconds)
	}
	return text + "."
}

// Title is the heading of pictures and pages.
func (r *Report) Title() string {
	switch n := len(r.Machines); {
	case r.Pods == 0:
		return "No pod is waiting for a node"
	case n == 0:
		return fmt.Sprintf("%d of %s placed, no machine to buy", r.Placed, Plural(r.Pods, "pod"))
	default:
		return fmt.Sprintf("%s for $%.4f per hour, with %d of %s", Plural(n, "machine"), r.HourlyPrice, r.Placed, Plural(r.Pods, "pod"))
	}
}

// Bound explains the lower bound in one sentence.
func (r *Report) Bound() string {
	switch {
	case len(r.Machines) == 0:
		return ""
	case r.Proof == nil:
		return "It is not known how far this is from the best possible price."
	case r.GapPercent == 0:
		return fmt.Sprintf("This is the best possible: no plan that honours the same constraints costs less than $%.4f per hour (proven).", r.LowerBound)
	}
	return fmt.Sprintf("No plan that honours the same constraints costs less than $%.4f per hour (proven), so this one is at most %.2f%% above the best possible.",
		r.LowerBound, r.GapPercent)
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
func (r *Report) topics() []Topic {
	notes := make([]Line, len(r.Warnings))
	for i, w := range r.Warnings {
		notes[i].Text = w
	}
	all := slices.Concat(
		[]Topic{
			{"Where pods go", r.Where()},
			{"Not placed (" + Plural(len(r.Unplaced), "pod") + ")", items(r.Reasons())},
			{"Preferences that are not met", items(r.GivenUp())},
		},
		r.Retirement(),
		[]Topic{{"Notes", notes}},
	)
	return slices.DeleteFunc(all, func(t Topic) bool { return len(t.Items) == 0 })
}

// items names the pods of each reason.
func items(list []Reason) []Line {
	out := make([]Line, len(list))
	for i := range list {
		out[i] = Line{list[i].Who(), list[i].Text}
	}
	return out
}

// Percent writes a share from 0 to 1.
func Percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// Duration writes the time that a decision took.
func Duration(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.1f ms", seconds*1000)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// Plural counts things: "1 pod", "2 pods".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ResourceName is a short name of a resource.
func ResourceName(name string) string {
	switch name {
	case amount.CPU:
		return "CPU"
	case amount.EphemeralStorage:
		return "disk"
	}
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		name = name[at+1:]
	}
	if name == "gpu" {
		return "GPU"
	}
	return name
}
