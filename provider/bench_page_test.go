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

This page compares %d Provisioners that are declared through Packhorse and through other
providers, with the real Terraform and the same API server. The page is written by
` + "`make bench-provider`" + `.

- Machine: %s, %d cores (%s/%s), %s
- Terraform: %s
- Runs: %d of each, in turns; medians

"plan" is the first plan, with nothing there; "apply" carries it out; "plan again"
refreshes everything and finds no change; "destroy" plans and carries out the removal.
Processor time is that of Terraform and the provider. It is the better figure to compare,
because other work on the machine slows the commands down by chance. A proxy in front of
the API server counts all requests, including those for discovery, and delays them by the
distance: 0 stands for an API server on Terraform's machine, and 20 ms for one in a
nearby region.

"Looking ahead" is ` + "`plan_checks = \"warn\"`" + `, the default: the API server checks each object
that changes in a dry run, and the provider checks it against the catalogue, the
cluster's nodes and other Provisioners. The other providers do nothing like this. Without
it (` + "`plan_checks = \"off\"`" + `), Packhorse does the same as they do. Its destroy waits until each
object is gone; theirs does not.

A first plan makes no request to the API server. Most of its processor time is
Terraform's own: about four fifths with Packhorse, because Terraform walks, compares and
shows each typed attribute, and about two thirds with kubectl_manifest, whose resource is
one text that is parsed for references. With Packhorse, the refresh of a later plan makes
no request per resource, and the apply makes one instead of four or five.

` + "`kubernetes_manifest`" + ` of hashicorp/kubernetes is not included. It came with version 2, whose
Go module cannot be downloaded (it has no ` + "`/v2`" + ` in its path), and the newest version that
can be, 1.13.4, has no resource for custom resources. alekc/kubectl is the newest version
that is a Go module; gavinbunney/kubectl is the provider that it was forked from.

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
