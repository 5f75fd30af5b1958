package validate

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

const (
	// leastBytes is less than any amount of memory or disk that a node has to do with.
	leastBytes = 1 << 20
	// mostReservedCPU is more than any node sets aside. Whole amounts from there on were meant in thousandths.
	mostReservedCPU = 10
)

// warnReserved tells of reserved amounts whose unit is another one than their author had in mind.
func warnReserved(reserved corev1.ResourceList, path *field.Path, warn warner) {
	warnUnits(reserved, "Mi", path, warn)
	q := reserved[corev1.ResourceCPU]
	if n := q.Value(); q.Format != resource.BinarySI && n >= mostReservedCPU && q.MilliValue() == n*1000 {
		warn(path.Key("cpu"), finding.Say("sets aside %d CPUs of every node", n), finding.Say("did you mean \"%dm\"?", n))
	}
}

// warnUnits tells of memory and disk in bytes, which are usually written with a unit such as the one given, and of CPUs
// with a unit of memory.
func warnUnits(amounts corev1.ResourceList, unit string, path *field.Path, warn warner) {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		q, at := amounts[name], path.Key(string(name))
		switch name {
		case corev1.ResourceCPU:
			if q.Format == resource.BinarySI && !q.IsZero() { // 1024Gi is 1Ti here, so the number that was meant is not known
				warn(at, finding.Say("%s is %d CPUs: the unit is one of memory", q.String(), q.Value()), finding.Say("write the number of CPUs without a unit"))
			}
		case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
			warnBytes(q, unit, at, warn)
		}
	}
}

// warnBytes tells of an amount of memory or disk that is next to nothing, and not nothing.
func warnBytes(q resource.Quantity, unit string, path *field.Path, warn warner) {
	if q.Sign() <= 0 || q.Value() >= leastBytes {
		return
	}
	if whole := q.DeepCopy(); !whole.RoundUp(0) {
		warn(path, finding.Say("%s is a fraction of a byte", q.String()), finding.Say("write it with a unit such as %s: m means a thousandth", unit))
		return
	}
	warn(path, finding.Say("is only %d bytes", q.Value()), finding.Say("did you mean \"%d%s\"?", q.Value(), unit))
}

// warnThresholds does the same for eviction thresholds of memory and disk.
func warnThresholds(thresholds map[string]string, path *field.Path, warn warner) {
	for _, signal := range slices.Sorted(maps.Keys(thresholds)) {
		if q, err := amount.Parse(thresholds[signal]); err == nil && strings.HasSuffix(signal, ".available") && signal != "pid.available" {
			warnBytes(q, "Mi", path.Key(signal), warn)
		}
	}
}
