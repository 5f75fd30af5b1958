package cron

import (
	"testing"
	"time"
)

// 1 January 2026 is a Thursday.
func TestMatchedSince(t *testing.T) {
	at := func(text string) time.Time {
		out, err := time.Parse("2006-01-02 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, c := range map[string]struct {
		schedule string
		duration time.Duration
		now      string
		want     bool
	}{
		"at the match":                   {"0 9 * * *", time.Hour, "2026-01-01 09:00:00", true},
		"within the duration":            {"0 9 * * *", time.Hour, "2026-01-01 09:59:59", true},
		"at its end":                     {"0 9 * * *", time.Hour, "2026-01-01 10:00:00", false},
		"before the match":               {"0 9 * * *", time.Hour, "2026-01-01 08:59:59", false},
		"over midnight":                  {"0 22 * * *", 8 * time.Hour, "2026-01-02 05:30:00", true},
		"on a working day":               {"0 9 * * mon-fri", 8 * time.Hour, "2026-01-01 12:00:00", true},
		"at the weekend":                 {"0 9 * * mon-fri", 8 * time.Hour, "2026-01-03 12:00:00", false},
		"Sunday is 7 too":                {"0 0 * * 7", 24 * time.Hour, "2026-01-04 12:00:00", true},
		"a list with steps":              {"*/15,7 * * * *", time.Minute, "2026-01-01 03:07:30", true},
		"between the steps":              {"*/15 * * * *", time.Minute, "2026-01-01 03:16:00", false},
		"a step with a leading zero":     {"*/010 * * * *", time.Minute, "2026-01-01 03:10:00", true},
		"a step that is no octal number": {"*/08 * * * *", time.Minute, "2026-01-01 03:08:00", true},
		"a step from a value to the end": {"0 20/2 * * *", time.Minute, "2026-01-01 22:00:10", true},
		"a step to the end of the week":  {"0 0 * * 1/2", time.Hour, "2026-01-02 00:30:00", true},
		"a step that leaves Sunday out":  {"0 0 * * mon/2", time.Hour, "2026-01-04 00:30:00", false},
		"a step from Sunday as 7":        {"0 0 * * 7/2", time.Hour, "2026-01-04 00:30:00", true},
		"either of two restricted days":  {"0 0 13 * fri", time.Hour, "2026-01-02 00:30:00", true},
		"both where one is free":         {"0 0 13 * *", time.Hour, "2026-01-02 00:30:00", false},
		"a month":                        {"@yearly", 48 * time.Hour, "2026-01-02 23:59:00", true},
		"a month that is over":           {"@yearly", 48 * time.Hour, "2026-02-02 23:59:00", false},
		"a time that never comes":        {"0 0 31 2 *", 30 * 24 * time.Hour, "2026-03-01 00:00:00", false},
	} {
		s, err := Parse(c.schedule)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := s.MatchedSince(at(c.now), c.duration); got != c.want {
			t.Errorf("%s: %q for %s at %s is %v", name, c.schedule, c.duration, c.now, got)
		}
	}
	if _, err := Parse("when I say so"); err == nil {
		t.Error("what is no schedule can be read")
	}
}

// TestClocksThatAreSet: on the days on which clocks are set, no minute is passed over, and none is looked at for
// ever.
func TestClocksThatAreSet(t *testing.T) {
	for zone, days := range map[string][]string{
		"Europe/Berlin":       {"2026-03-29", "2026-10-25"},
		"Europe/London":       {"2026-03-29", "2026-10-25"},
		"America/New_York":    {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"}, // by half an hour
		"Africa/Cairo":        {"2026-04-24", "2026-10-30"}, // at midnight
	} {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, expression := range []string{"0 20 * * *", "0 1 * * *", "30 1 * * *", "15 2 * * *", "0 0 * * sat", "59 23 * * *"} {
			s, err := Parse(expression)
			if err != nil {
				t.Fatal(err)
			}
			for _, day := range days {
				midnight, err := time.ParseInLocation(time.DateOnly, day, at)
				if err != nil {
					t.Fatal(err)
				}
				for minutes := -3 * 60; minutes < 30*60; minutes += 13 {
					now := midnight.Add(time.Duration(minutes) * time.Minute)
					if got, want := s.MatchedSince(now, 10*time.Hour), matchedByMinutes(&s, now, 10*time.Hour); got != want {
						t.Errorf("%q at %s: %v, want %v", expression, now, got, want)
					}
				}
			}
		}
	}
}

// matchedByMinutes looks at each minute, and at those on the clock that were skipped before it.
func matchedByMinutes(s *Schedule, now time.Time, d time.Duration) bool {
	clock := func(t time.Time) time.Time {
		year, month, day := t.Date()
		return time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	for t := now.Truncate(time.Minute); t.After(now.Add(-d)); t = t.Add(-time.Minute) {
		for shown := clock(t); ; shown = shown.Add(-time.Minute) {
			if s.matchesDay(shown) && s.hour&(1<<shown.Hour()) != 0 && s.minute&(1<<shown.Minute()) != 0 {
				return true
			}
			if !shown.After(clock(t.Add(-time.Minute)).Add(time.Minute)) {
				break
			}
		}
	}
	return false
}

// What should begin while clocks are set forward begins right after that, and not on another day.
func TestSkippedStart(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone string
		since, until   string
	}{
		"at the beginning of the gap": {"0 2 * * sun", "Europe/Berlin", "2026-03-29T03:00:00+02:00", "2026-03-29T07:00:00+02:00"},
		"within the gap":              {"30 2 * * sun", "America/New_York", "2026-03-08T03:00:00-04:00", "2026-03-08T07:00:00-04:00"},
		"half an hour":                {"15 2 * * *", "Australia/Lord_Howe", "2026-10-04T02:30:00+11:00", "2026-10-04T06:30:00+11:00"},
		"at midnight":                 {"0 0 24 4 *", "Africa/Cairo", "2026-04-24T01:00:00+03:00", "2026-04-24T05:00:00+03:00"},
	} {
		at, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(c.schedule)
		if err != nil {
			t.Fatal(err)
		}
		for when, want := range map[string]bool{c.since: true, c.until: false} {
			now, err := time.Parse(time.RFC3339, when)
			if err != nil {
				t.Fatal(err)
			}
			for at, want := range map[time.Time]bool{now.In(at): want, now.Add(-time.Second).In(at): !want} {
				if got := s.MatchedSince(at, 4*time.Hour); got != want {
					t.Errorf("%s: %q for four hours at %s is %v", name, c.schedule, at, got)
				}
			}
		}
	}
}
