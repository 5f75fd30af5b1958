package cluster

import (
	"testing"
	"time"
)

// TestNotDisrupted: a pod is protected for ever or for a while after it came to its node, and not because the
// clock of its node is ahead.
func TestNotDisrupted(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		template Template
		came     time.Duration // after now
		want     bool
	}{
		"unprotected":                   {Template{}, -time.Hour, false},
		"unprotected, a clock is ahead": {Template{}, time.Second, false},
		"for ever":                      {Template{DoNotDisrupt: true}, -time.Hour, true},
		"for longer":                    {Template{DoNotDisruptFor: 2 * time.Hour}, -time.Hour, true},
		"no longer":                     {Template{DoNotDisruptFor: time.Hour}, -time.Hour, false},
	} {
		p := Pod{Template: &c.template, Since: now.Add(c.came)}
		if got := p.NotDisrupted(now); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
