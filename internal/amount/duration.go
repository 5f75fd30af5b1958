package amount

import (
	"math"
	"strings"
	"time"
)

// ShortDuration writes a duration as people do, without the units that are zero at
// the end: 24h, not 24h0m0s.
func ShortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Seconds returns a number of seconds as a duration. What is longer than the longest duration, 292 years, is
// that: many fields of Kubernetes have no upper bound.
func Seconds(n int64) time.Duration {
	const longest = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(n, -longest), longest)) * time.Second
}

// Clock writes the time of day: 15:04:05 UTC.
func Clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) + " UTC" }

// Moment writes the date and the time of day: 2006-01-02 15:04:05 UTC.
func Moment(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }
