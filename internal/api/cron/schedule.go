package cron

import "time"

// expressions are what the macros stand for.
var expressions = map[string]string{
	"@annually": "0 0 1 1 *", "@yearly": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Schedule is a cron expression: for each field the values that match, as bits.
type Schedule struct {
	minute, hour, day, month, weekday uint64
	// Where both days are restricted, either will do.
	eitherDay bool
}

// Parse reads an expression that Check accepts.
func Parse(expression string) (Schedule, error) {
	s, wrong := read(expression, nil)
	if wrong != nil {
		return Schedule{}, *wrong
	}
	return s, nil
}

// MatchedSince reports whether some minute matched less than d ago. Minutes that clocks skipped when they were set
// forward matched in the first one after them. Days and hours without a match are passed over as a whole.
func (s *Schedule) MatchedSince(now time.Time, d time.Duration) bool {
	earliest := now.Add(-d)
	for t := now.Truncate(time.Minute); t.After(earliest); {
		switch {
		case s.matches(t) || s.matchesBefore(t):
			return true
		case !s.matchesDay(t):
			t = back(t, 60*t.Hour()+t.Minute()+1)
		case s.hour&(1<<t.Hour()) == 0:
			t = back(t, t.Minute()+1)
		default:
			t = t.Add(-time.Minute)
		}
	}
	return false
}

// back returns the time so many minutes earlier. If clocks were set in between, it returns the minute before:
// no hour that comes twice, and none of another length, is passed over.
func back(t time.Time, minutes int) time.Time {
	to := t.Add(-time.Duration(minutes) * time.Minute)
	_, before := to.Zone()
	if _, now := t.Zone(); now != before {
		return t.Add(-time.Minute)
	}
	return to
}

// matchesBefore reports whether one of the minutes matches that clocks skipped right before t.
func (s *Schedule) matchesBefore(t time.Time) bool {
	_, now := t.Zone()
	_, before := t.Add(-time.Minute).Zone()
	wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	for skipped := now - before; skipped > 0; skipped -= 60 {
		if wall = wall.Add(-time.Minute); s.matches(wall) {
			return true
		}
	}
	return false
}

func (s *Schedule) matches(t time.Time) bool {
	return s.matchesDay(t) && s.hour&(1<<t.Hour()) != 0 && s.minute&(1<<t.Minute()) != 0
}

func (s *Schedule) matchesDay(t time.Time) bool {
	if s.month&(1<<t.Month()) == 0 {
		return false
	}
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if s.eitherDay {
		return day || weekday
	}
	return day && weekday
}
