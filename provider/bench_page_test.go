package provider_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

const pageHead = `# Benchmark of the provider

The same %d Provisioners, declared through Packhorse and through other providers
with the real Terraform, against the same API server. This page is written by
` + "`make bench-provider`" + `.

- Machine: %s, %d cores (%s/%s), %s
- Terraform: %s
- Runs: %d of each, in turns; medians

"plan" is the first, with nothing there; "apply" carries that plan out; "plan again"
refreshes all of it and finds no change; "destroy" plans and carries out the removal.
Processor time is that of Terraform and the provider: compare it where other work on the
machine has slowed the commands down, as times then are chance. A proxy in front of the
API server counts the requests, those for discovery among them, and delays them by the
distance: 0 is an API server on the machine that Terraform runs on, 20 ms one in a
region near by.

"Looking ahead" is ` + "`plan_checks = \"warn\"`" + `, the default: the API server judges each
object that changes by a dry run, and the catalogue, the cluster's nodes and other
Provisioners are looked at. The others here do nothing of the kind; without it
(` + "`plan_checks = \"off\"`" + `) Packhorse does what they do. Its destroy waits until each object
is gone, theirs does not.

A first plan asks the API server nothing. Its processor time is for the most part
Terraform's own: some four fifths with Packhorse, whose typed attributes are walked,
compared and shown one by one, and some two thirds with kubectl_manifest, whose
resource is one text, parsed for references. The refresh of a later plan takes no
request for each resource, and applying one instead of four or five.

` + "`kubernetes_manifest`" + ` of hashicorp/kubernetes is not among them: it came with
version 2, whose Go module cannot be had (it has no ` + "`/v2`" + ` in its path), and the newest
that can be, 1.13.4, has no resource for custom resources. alekc/kubectl is at its
newest version that is a Go module; gavinbunney/kubectl is the provider that it comes from.

`

// page writes what was measured.
func page(contestants []contestant, results map[result][]sample) string {
	var out strings.Builder
	fmt.Fprintf(&out, pageHead, benchmarked, processor(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly),
		engineVersion(), len(results[result{}]))
	table := func(title string, cell func(contestant, step int) string) {
		out.WriteString("## " + title + "\n\n|  |")
		for _, s := range steps {
			out.WriteString(" " + s.title + " |")
		}
		out.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(steps)) + "\n")
		for i, c := range contestants {
			out.WriteString("| " + c.title + " |")
			for s := range steps {
				out.WriteString(" " + cell(i, s) + " |")
			}
			out.WriteString("\n")
		}
		out.WriteString("\n")
	}
	seconds := func(distance time.Duration, of func(sample) time.Duration) func(int, int) string {
		return func(i, s int) string {
			took, ours := median(results[result{distance, i, s}], of), median(results[result{distance, 0, s}], of)
			return fmt.Sprintf("%.1f s (×%.1f)", took.Seconds(), took.Seconds()/ours.Seconds())
		}
	}
	for _, distance := range distances {
		table(fmt.Sprintf("Time, the API server %v away", distance), seconds(distance, func(s sample) time.Duration { return s.wall }))
	}
	table("Processor time", seconds(0, func(s sample) time.Duration { return s.cpu }))
	table("Requests per resource", func(i, s int) string {
		return fmt.Sprintf("%.2f", float64(median(results[result{0, i, s}], func(s sample) int { return s.requests }))/benchmarked)
	})
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func median[T int | time.Duration](all []sample, of func(sample) T) T {
	var values []T
	for _, s := range all {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// processor is the model that Linux tells.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range bytes.Lines(data) {
			if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
				return string(bytes.TrimSpace(value))
			}
		}
	}
	return "unknown processor"
}
