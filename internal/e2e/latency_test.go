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

This page shows how long the agent takes to order machines for pods that kube-scheduler
cannot place. A deployment is scaled from 0 to the given number of pods in the sandbox,
where kube-scheduler, the controllers, the agent and the AWS endpoints share %d cores. The
table shows medians, with the fastest and the slowest run:

| pods | runs | first unschedulable pod to fleet call | last unschedulable pod to fleet call | fleet call to last binding |
| --- | --- | --- | --- | --- |
`

const latencyTail = `
The second figure is negative for large scale-ups. Once kube-scheduler has refused one pod
of a ReplicaSet, the agent orders machines for all pods that the ReplicaSet wants, while
the controller still creates them. Each pod is bound when kube-scheduler has refused it, so
the third figure is mostly time of the controller and the scheduler.

A workload that grows in steps less than 10 s apart is an exception: its later steps
[wait for the next](operations.md#with-pod-autoscalers).

` + "`make figures` measures again and writes this page; FIGURES_PODS=1,10 FIGURES_RUNS=20 chooses other sizes.\n"
