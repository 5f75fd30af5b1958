package report

import (
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// Markdown is the page about the measurement.
func Markdown(m *Measurement) string {
	var out strings.Builder
	outcomes, s := m.Outcomes, m.Setting
	fmt.Fprintf(&out, introduction, s.Machine, s.System, s.Go, s.Ours, s.Peer, runs(outcomes))
	out.WriteString("## Speed and price\n\n")
	rows(&out, "Case", "Pods", "Classes", "Types", "CPU time", "Peer's", "Speed", "Machines", "Peer's", "$/h", "Peer's", "Bound", "Above it", "Peer's", "Peak memory", "Peer's")
	for i := range outcomes {
		row := cells(&outcomes[i])
		if c := suite.Find(row[0]); c != nil {
			row[0] = "`" + row[0] + "` " + c.Title
		}
		line(&out, row)
	}
	out.WriteString("\n![Price above the bound, by case](images/bench-price.svg)\n\n![Speed against the peer, by case](images/bench-speed.svg)\n\n## Bars\n\n")
	rows(&out, "Case", "Bar", "Measured", "")
	for i := range outcomes {
		o := &outcomes[i]
		for _, v := range verdicts(o, outcomes) {
			line(&out, []string{"`" + o.Case + "`", v.Bar, v.Got, v.Mark()})
		}
	}
	missed(&out, outcomes)
	ends(&out, outcomes)
	found(&out, outcomes)
	out.WriteString(method + repeatIt)
	return out.String()
}

// missed repeats the bars that were not reached, and says what the others hide.
func missed(out *strings.Builder, outcomes []suite.Outcome) {
	var list []string
	for i := range outcomes {
		o := &outcomes[i]
		for _, v := range verdicts(o, outcomes) {
			if !v.Met && !v.Unknown {
				list = append(list, fmt.Sprintf("- `%s`: %s, measured %s\n", o.Case, v.Bar, v.Got))
			}
		}
	}
	out.WriteString("\n## Missed\n\n")
	if len(list) == 0 {
		out.WriteString("No bar.\n")
	}
	out.WriteString(strings.Join(list, "") + caveats)
}

func runs(outcomes []suite.Outcome) int {
	n := 0
	for i := range outcomes {
		n = max(n, outcomes[i].Runs)
	}
	return n
}

// found lists what the checker found wrong, with whichever plan.
func found(out *strings.Builder, outcomes []suite.Outcome) {
	var list []string
	for i := range outcomes {
		for _, f := range faults(&outcomes[i]) {
			list = append(list, fmt.Sprintf("- `%s`: %s\n", outcomes[i].Case, f))
		}
	}
	out.WriteString("\n## What the checker found\n\n")
	if len(list) == 0 {
		out.WriteString("Nothing: all plans, ours and the peer's, are feasible and complete, and no bound is above a plan.\n")
		return
	}
	out.WriteString(strings.Join(list, ""))
}

// ends shows the elapsed times, of the first decision of a process and of later ones.
func ends(out *strings.Builder, outcomes []suite.Outcome) {
	out.WriteString("\n## First and later decisions\n\nElapsed time and memory allocated.\n\n")
	rows(out, "Case", "First", "Later", "Peer's first", "Peer's later", "Ratio", "Allocated", "Peer's")
	for i := range outcomes {
		o := &outcomes[i]
		row := []string{"`" + o.Case + "`", clock(o.Ours.Time.First.Wall), clock(o.Ours.Time.Typical.Wall), "–", "–", "–", mebibytes(o.Ours.Time.Typical.Allocated), "–"}
		if p := o.Peer; p != nil {
			row[3], row[4], row[5] = clock(p.Time.First.Wall), clock(p.Time.Typical.Wall), fmt.Sprintf("%.0f×", o.WallRatio)
			row[7] = mebibytes(p.Time.Typical.Allocated)
		}
		line(out, row)
	}
}

func rows(out *strings.Builder, titles ...string) {
	line(out, titles)
	rule := make([]string, len(titles))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	line(out, rule)
}

func line(out *strings.Builder, cells []string) {
	fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | "))
}

const introduction = `# Benchmark

This page compares Packhorse's decision core with Karpenter's scheduler, its peer, which is
taken unchanged from its published Go module. Both plan the same pods for the same catalogue.
[How it is measured](#how-it-is-measured) explains the columns.

- Machine: %s (%s)
- Go: %s
- Packhorse: %s
- Peer: %s, with one worker, its default in production, and without the limit of
  one minute that production sets
- Processes per case: %d; medians

`

const caveats = `
What the bars do not show:

- Plans for the peer's own diverse mix are above the bound in part because the bound is
  low: it fills the machines for pods that need a machine each with parts of other pods.
  Column generation with fifty times the effort of a plan found no mix for whole pods that
  is closer to the bound than 1.5 %. The rest of the gap is the plan's: the search ends
  when it no longer pays.
- Small plans are farther from the bound than large ones, because their last machines are
  not full and the bound may buy parts of machines. They also take longer per pod, because
  the search spends effort on these machines.
- Rows that miss a bar on speed use the time for cheaper plans: the search ends after about a
  quarter of a second, or a second for 1,000 pods and more, or as soon as nothing more is to
  be gained. The rest of a decision is not part of that time. In the first edition of the
  core, ` + "`selectors-10000`" + ` took 78 ms and cost $2.19 more per hour. ` + "`--budget`" + ` shortens the
  search.
`

const method = `
## How it is measured

Both plan in the same process, one after the other, and take turns in going first. The
instance types have the same capacity, overhead, zones and on-demand prices, and there is
one pool without limits. The pods are drawn with fixed seeds. Real types and prices are
those of us-east-1 in the built-in catalogue; "c/m/r" are virtual machines of these
categories that are newer than generation 2.

The measurement covers the decision, from the state in memory to the plan. For Packhorse,
this is one call of the core. For the peer, it is building its topology and its scheduler,
and solving. Neither includes reading pods and the catalogue, nor what is kept with the
catalogue (5 ms for all of EC2 in Packhorse, when prices or stock change).

Times are CPU times of all threads, including the garbage collector, because other work on
the machine does not change them. "Speed" is the peer's time divided by ours. Short
decisions are repeated within a process. The first decision of a process is listed
separately: it is slower because of page faults and cold caches. Peak memory is that of the
process during the first decision, including input and code.

The bound is the higher of two bounds: the one that our plan proves, and the optimum of a
linear program over the sums of all requests, from a general solver that shares no code
with the core. A dash marks cases in which only our own plan is measured; † marks a result
of the peer from an earlier measurement of the same case.

A checker that shares no code with either planner verifies every plan from scratch: that
each pod is placed once, that capacity with DaemonSets, selectors, taints, spread, affinity
and anti-affinity hold, and that each machine is on offer at its price.

How long the agent takes from an unschedulable pod to the fleet call is measured end to
end: [latency](latency.md).
`

const repeatIt = `
## How to repeat it

    make bench         # everything, with the peer's slow cases: most of an hour
    make bench-quick   # one process per case, the peer's slow cases as measured before

A part of it, from the folder ` + "`internal/bench`" + `:

    go run . list
    go run . run --cases '^mixed' --runs 5 --json mixed.json
    go run . run --no-peer --peer-from mixed.json   # our own side again
    go run . report --from mixed.json               # the same table again
`
