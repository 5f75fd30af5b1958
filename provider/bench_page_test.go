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
A proxy in front of the API server counts all requests, including those for discovery, and
delays them: 0 stands for an API server on Terraform's machine, and 20 ms for one in a
nearby region. Processor time is that of Terraform and the provider, and varies less than
elapsed time on a machine that does other work. Most of it is Terraform's own.

With "looking ahead" (` + "`plan_checks = \"warn\"`" + `, the default), the API server checks each
object that changes in a dry run, and the provider checks it against the catalogue, the
cluster's nodes and other Provisioners. The other providers do nothing like this; compare
them with the first row (` + "`plan_checks = \"off\"`" + `). Packhorse's destroy waits until each object is
gone; theirs does not.

` + "`kubernetes_manifest`" + ` of hashicorp/kubernetes is not included, because its version 2 cannot be
built as a Go module. gavinbunney/kubectl is the provider from which alekc/kubectl was forked.

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
