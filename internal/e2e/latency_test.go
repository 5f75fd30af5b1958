package e2e

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// figures are the times of several scale-ups of one size.
type figures struct {
	pods               int
	first, last, bound []time.Duration
}

func (f *figures) add(first, last, bound time.Duration) {
	f.first, f.last, f.bound = append(f.first, first), append(f.last, last), append(f.bound, bound)
}

func (f *figures) String() string {
	return fmt.Sprintf("%d pods, %d times: first unschedulable to fleet call %s, last unschedulable to fleet call %s, fleet call to last binding %s",
		f.pods, len(f.first), spread(f.first), spread(f.last), spread(f.bound))
}

// spread is the median, and the least and the most where there are several.
func spread(all []time.Duration) string {
	sorted := slices.Sorted(slices.Values(all))
	for i := range sorted {
		sorted[i] = sorted[i].Round(time.Millisecond)
	}
	middle := sorted[len(sorted)/2]
	if len(sorted) == 1 {
		return middle.String()
	}
	return fmt.Sprintf("%s (%s to %s)", middle, sorted[0], sorted[len(sorted)-1])
}

func latencyPage(rows []figures) string {
	var out strings.Builder
	fmt.Fprintf(&out, latencyHead, runtime.NumCPU())
	for _, r := range rows {
		fmt.Fprintf(&out, "| %d | %d | %s | %s | %s |\n", r.pods, len(r.first), spread(r.first), spread(r.last), spread(r.bound))
	}
	out.WriteString(latencyTail)
	return out.String()
}

const latencyHead = `# From an unschedulable pod to the fleet call

A deployment goes from 0 to so many pods in the sandbox, where kube-scheduler,
the controllers, the agent and the AWS endpoints share %d cores. Medians, with the
fastest and the slowest run:

| pods | runs | first unschedulable pod to fleet call | last unschedulable pod to fleet call | fleet call to last binding |
| --- | --- | --- | --- | --- |
`

const latencyTail = `
The agent does not wait for time to pass. Once kube-scheduler has found no node for the
first pod of a ReplicaSet, it will find none for the others, and the ReplicaSet says
how many there will be: machines for all are ordered at once, while the controller
still makes the pods and the scheduler looks at them. So the last pod of the larger
scale-ups is marked seconds after the fleet call. Each pod is bound once it is marked, in
the last figure, which is the controller's and the scheduler's time. Only where a workload
grows in steps that follow each other within 10 s do the later ones wait for the next
(see [operations.md](operations.md#beside-autoscalers-of-workloads)).

` + "`make figures` measures anew and writes this page; FIGURES_PODS=1,10 FIGURES_RUNS=20 chooses other sizes.\n"
