package api

import (
	"fmt"
	"strings"
	"time"
)

// cronExpressions are what the macros stand for.
var cronExpressions = map[string]string{
	"@annually": "0 0 1 1 *", "@yearly": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// schedule is a cron expression: for each field the values that match, as bits.
type schedule struct {
	minute, hour, day, month, weekday uint64
	// Where both days are restricted, either will do.
	eitherDay bool
}

// Active reports whether the budget holds at a time: always without a schedule,
// else from each match of it, in UTC, for the duration. A schedule that cannot be
// read always holds.
func (b *Budget) Active(now time.Time) bool {
	if b.Schedule == nil || b.Duration == nil {
		return true
	}
	s, err := parseSchedule(*b.Schedule)
	if err != nil {
		return true
	}
	return s.matchedSince(now.UTC(), b.Duration.Duration)
}

func parseSchedule(expression string) (schedule, error) {
	if wrong := checkCron(expression, nil); wrong != nil {
		return schedule{}, *wrong
	}
	if expanded, ok := cronExpressions[expression]; ok {
		expression = expanded
	}
	parts := strings.Fields(expression)
	var bits [5]uint64
	for i, part := range parts {
		for item := range strings.SplitSeq(part, ",") {
			bits[i] |= cronFields[i].bits(item)
		}
	}
	s := schedule{minute: bits[0], hour: bits[1], day: bits[2], month: bits[3], weekday: bits[4]}
	s.weekday |= s.weekday >> 7 // 7 is Sunday too
	s.eitherDay = !anyDay(parts[2]) && !anyDay(parts[4])
	return s, nil
}

func anyDay(part string) bool { return strings.HasPrefix(part, "*") || strings.HasPrefix(part, "?") }

// bits returns the values of an item that check has accepted.
func (f cronField) bits(item string) uint64 {
	span, stepText, hasStep := strings.Cut(item, "/")
	step := 1
	if hasStep {
		_, _ = fmt.Sscan(stepText, &step) // was checked
	}
	low, high := f.low, f.high
	if span != "*" && span != "?" {
		from, to, isRange := strings.Cut(span, "-")
		low, _ = f.value(from)
		switch {
		case isRange:
			high, _ = f.value(to)
		case !hasStep:
			high = low
		}
	}
	var out uint64
	for v := low; v <= high; v += step {
		out |= 1 << v
	}
	return out
}

// matchedSince reports whether some minute matched less than d ago. Days and hours
// without a match are passed over as a whole.
func (s *schedule) matchedSince(now time.Time, d time.Duration) bool {
	earliest := now.Add(-d)
	for t := now.Truncate(time.Minute); t.After(earliest); {
		switch {
		case !s.matchesDay(t):
			t = time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()).Add(-time.Minute)
		case s.hour&(1<<t.Hour()) == 0:
			t = time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, t.Location()).Add(-time.Minute)
		case s.minute&(1<<t.Minute()) == 0:
			t = t.Add(-time.Minute)
		default:
			return true
		}
	}
	return false
}

func (s *schedule) matchesDay(t time.Time) bool {
	if s.month&(1<<t.Month()) == 0 {
		return false
	}
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if s.eitherDay {
		return day || weekday
	}
	return day && weekday
}
