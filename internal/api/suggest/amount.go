package suggest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// amountForm is a number with a unit as people write it: "10 cores", "1 day".
var amountForm = regexp.MustCompile(`^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*$`)

// quantityUnits are units that Kubernetes spells in another way, in lower case. A
// unit that it does not have at all is a count.
var quantityUnits = map[string]string{
	"core": "", "cores": "", "cpu": "", "cpus": "", "vcpu": "", "vcpus": "", "pods": "", "b": "", "bytes": "", "millicores": "m",
	"kb": "k", "mb": "M", "gb": "G", "tb": "T", "ki": "Ki", "kib": "Ki", "mi": "Mi", "mib": "Mi", "gi": "Gi", "gib": "Gi", "ti": "Ti", "tib": "Ti",
}

// durationUnits are units of time in lower case.
var durationUnits = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour, "w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// Quantity says how to write what is no quantity.
func Quantity(text string) finding.Message {
	if parts := amountForm.FindStringSubmatch(text); parts != nil {
		if unit, ok := quantityUnits[strings.ToLower(parts[2])]; ok {
			if _, err := amount.Parse(parts[1] + unit); err == nil {
				return Value(parts[1] + unit)
			}
		}
	}
	return finding.Say("write it as a number with an optional unit, such as 2Gi")
}

// longest is how many whole hours a duration may have, which counts nanoseconds.
const longest = "2562047h"

// durationForm is a duration as Go writes it, however long.
var durationForm = regexp.MustCompile(`^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`)

// Duration says what is wrong with what is no duration, and how to write it.
func Duration(text string) (wrong, advice finding.Message) {
	const form = "must be a duration such as 30s or 1h30m"
	if length, ok := ParseDuration(text); ok {
		return finding.Say(form), Value(amount.ShortDuration(length))
	}
	if length, ok := inUnits(text); ok && length >= math.MaxInt64 || durationForm.MatchString(text) {
		return finding.Say("must be at most %s", longest), Value(longest)
	}
	return finding.Say(form), finding.Say("write it in hours, minutes and seconds, such as 1h30m")
}

// ParseDuration reads a duration as Go writes it, or as a number with a unit.
func ParseDuration(text string) (time.Duration, bool) {
	if length, err := time.ParseDuration(text); err == nil {
		return length, true
	}
	length, ok := inUnits(text)
	return time.Duration(length), ok && length < math.MaxInt64
}

// inUnits is a number with a unit in nanoseconds, which may be more than a duration has.
func inUnits(text string) (float64, bool) {
	parts := amountForm.FindStringSubmatch(text)
	if parts == nil {
		return 0, false
	}
	unit, ok := durationUnits[strings.ToLower(parts[2])]
	number, _ := strconv.ParseFloat(parts[1], 64) // infinite where it is too large
	return number * float64(unit), ok
}

// Value is the advice to take the nearest valid value.
func Value(value string) finding.Message {
	return finding.Say("the nearest valid value is %q", value)
}
