package install

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// How long a batch of pods is waited for.
const (
	DefaultBatchIdle = 100 * time.Millisecond
	DefaultBatchMax  = 10 * time.Second
)

// Range is what values of a number, or of a duration in seconds, make sense.
type Range struct {
	Least, Most float64
	Off         []float64 // below the least: they turn something off
	Whole       bool      // only whole numbers
	Duration    bool
}

// otherRanges are those of settings and of flags of other commands than run.
var otherRanges = map[string]Range{
	"replicas": {Least: 1, Most: 100, Whole: true},
	"budget":   {Least: 0, Most: 600, Duration: true},   // of simulate
	"timeout":  {Least: 1, Most: 86400, Duration: true}, // of takeover
}

// What agents may request. With 100 nodes an agent uses 116 MiB and a sixth of a core
// (docs/operations.md): values outside lack a unit or have the wrong one, such as 512 or 512m
// for memory and 500 for CPU.
const (
	leastCPU, mostCPU       = "1m", "64"
	leastMemory, mostMemory = "64Mi", "1Ti"
)

// RangeOf returns the range of a flag that has one.
func RangeOf(flag string) (Range, bool) {
	if form := options[flag]; form.within != nil {
		return *form.within, true
	}
	r, ok := otherRanges[flag]
	return r, ok
}

// Nonsense says what would be right if the value of a flag makes no sense. Values that cannot be parsed are reported
// where they are parsed.
func Nonsense(flag, value string) string {
	r, known := RangeOf(flag)
	if !known {
		return ""
	}
	v, err := r.read(value)
	if err != nil || slices.Contains(r.Off, v) || r.Least <= v && v <= r.Most {
		return ""
	}
	return "the nearest sensible value is " + r.text(r.nearest(flag, v))
}

// NonsenseBatch says what would be right if a batch may wait less in all than for one
// more pod. Empty values are the defaults.
func NonsenseBatch(idle, most string) string {
	i, m := DefaultBatchIdle, DefaultBatchMax
	for _, given := range []struct {
		text string
		is   *time.Duration
	}{{idle, &i}, {most, &m}} {
		if d, err := time.ParseDuration(given.text); err == nil {
			*given.is = d
		}
	}
	if m >= i {
		return ""
	}
	return fmt.Sprintf("must not be less than batch-idle: the nearest sensible value is %s", i)
}

func (r Range) read(text string) (float64, error) {
	switch {
	case r.Duration:
		d, err := time.ParseDuration(text)
		return d.Seconds(), err
	case r.Whole:
		n, err := strconv.ParseInt(text, 10, 64)
		return float64(n), err
	}
	return strconv.ParseFloat(text, 64)
}

// nearest is what was probably meant. The peer takes shares as fractions.
func (r Range) nearest(flag string, value float64) float64 {
	if flag == "vm-memory-overhead-percent" && value > 0 {
		if percent := 100 * value; value < r.Least && percent >= r.Least {
			return percent
		}
	}
	if math.IsNaN(value) {
		return r.Least
	}
	return max(r.Least, min(value, r.Most))
}

func (r Range) text(value float64) string {
	if !r.Duration {
		return strconv.FormatFloat(value, 'g', 6, 64)
	}
	return time.Duration(value * float64(time.Second)).String()
}
