// Package cron reads cron expressions, and says of those that it cannot read what is wrong.
package cron

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// part is one of the five fields of a cron expression.
type part struct {
	name      string
	low, high int
	names     []string // of the values from low on, in lower case
}

var fields = []part{
	{name: "minute", low: 0, high: 59},
	{name: "hour", low: 0, high: 23},
	{name: "day of month", low: 1, high: 31},
	{name: "month", low: 1, high: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", low: 0, high: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var macros = slices.Sorted(maps.Keys(expressions))

// Check checks a cron expression: five fields of numbers, names, lists,
// ranges and steps as in crontab(5), or a macro such as @daily. Times are UTC,
// so that a time zone is refused. It returns nil for one that can be read.
func Check(expression string, path *field.Path) *finding.Finding {
	_, wrong := read(expression, path)
	return wrong
}

func read(expression string, path *field.Path) (Schedule, *finding.Finding) {
	wrong := func(text, advice finding.Message) (Schedule, *finding.Finding) {
		out := finding.Invalid(path, expression, text, advice)
		return Schedule{}, &out
	}
	expanded, known := expressions[expression]
	switch {
	case known:
	case strings.HasPrefix(expression, "@"):
		return wrong(finding.Say("must be one of %s", strings.Join(macros, ", ")), finding.Either(didYouMean(expression, macros), finding.Say("write one of these, or five fields")))
	case strings.Contains(expression, "TZ="):
		return wrong(finding.Say("must not name a time zone: schedules are in UTC"), finding.Say("remove it, and give the times in UTC"))
	default:
		expanded = expression
	}
	parts := strings.Fields(expanded)
	if len(parts) != len(fields) {
		return wrong(finding.Say("must have 5 fields (minute, hour, day of month, month, day of week), not %d", len(parts)), finding.Say(`write them all, such as "0 9 * * mon-fri"`))
	}
	var bits [5]uint64
	for i, text := range parts {
		for item := range strings.SplitSeq(text, ",") {
			values, text, advice := fields[i].read(item)
			if !text.Empty() {
				return wrong(text, advice)
			}
			bits[i] |= values
		}
	}
	s := Schedule{minute: bits[0], hour: bits[1], day: bits[2], month: bits[3], weekday: bits[4]}
	s.weekday |= s.weekday >> 7 // 7 is Sunday too
	s.eitherDay = !anyDay(parts[2]) && !anyDay(parts[4])
	return s, nil
}

func anyDay(part string) bool { return strings.HasPrefix(part, "*") || strings.HasPrefix(part, "?") }

// read returns the values of an item, as bits: *, a value, or a range, each with an optional
// step. Of another item it says what is wrong.
func (f part) read(item string) (values uint64, text, advice finding.Message) {
	span, stepText, hasStep := strings.Cut(item, "/")
	step := uint64(1)
	if hasStep {
		var err error
		if step, err = strconv.ParseUint(stepText, 10, 31); err != nil || step == 0 {
			return 0, finding.Say("%s %q: the step must be a number above zero", f.name, item), finding.Say("write it such as */15")
		}
	}
	low, high := f.low, f.high
	if span != "*" && (span != "?" || !strings.HasPrefix(f.name, "day")) {
		from, to, isRange := strings.Cut(span, "-")
		if !isRange {
			to = from
		}
		first, ok := f.value(from)
		last, also := f.value(to)
		if !ok || !also {
			return f.outside(item)
		}
		if last < first {
			return 0, finding.Say("%s %q: the range ends before it begins", f.name, item), finding.Say("write it as %s,%s", f.span(first, f.high), f.span(f.low, last))
		}
		if low = first; isRange || !hasStep {
			high = last
		} else {
			high = max(first, f.end())
		}
	}
	for v := low; v <= high; v += int(step) {
		values |= 1 << v
	}
	return values, finding.None, finding.None
}

// end is the last value of a field, which of weekdays is Saturday: 7 is Sunday again.
func (f part) end() int {
	if len(f.names) > 0 {
		return f.low + len(f.names) - 1
	}
	return f.high
}

// span spells a range, by names where the field has them.
func (f part) span(low, high int) string {
	word := func(v int) string {
		if i := v - f.low; i < len(f.names) {
			return f.names[i]
		}
		return strconv.Itoa(v)
	}
	high = min(high, f.end())
	if low == high {
		return word(low)
	}
	return word(low) + "-" + word(high)
}

func (f part) value(text string) (int, bool) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.low + i, true
	}
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err == nil && int(n) >= f.low && int(n) <= f.high
}

func (f part) outside(item string) (none uint64, text, advice finding.Message) {
	advice = finding.Either(didYouMean(item, f.names), finding.Say("write it in digits"))
	if n, err := strconv.Atoi(item); err == nil {
		advice = finding.Say("the nearest valid value is %d", min(max(n, f.low), f.high))
	}
	return 0, finding.Say("%s %q: must be from %d to %d", f.name, item, f.low, f.high), advice
}

func didYouMean(text string, allowed []string) finding.Message {
	if near, ok := suggest.Name(text, allowed); ok {
		return finding.Say("did you mean %q?", near)
	}
	return finding.None
}
