package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestMemo(t *testing.T) {
	now := time.Now()
	m := NewMemo[int](func() time.Time { return now }, time.Minute, time.Hour)
	asked, broken := 0, error(nil)
	look := func(context.Context) (int, error) { asked++; return asked, broken }
	steps := []struct {
		what      string
		pass      time.Duration
		broken    bool
		want      int
		wantError bool
		wantAsked int
	}{
		{"the first answer is looked up", 0, false, 1, false, 1},
		{"and remembered", 59 * time.Second, false, 1, false, 1},
		{"until it is due", time.Second, false, 2, false, 2},
		{"a failure leaves the old answer", time.Minute, true, 2, false, 3},
		{"and is not repeated at once", RetryInterval - time.Second, true, 2, false, 3},
		{"but soon", time.Second, true, 2, false, 4},
		{"an outdated answer is not served", time.Hour, true, 5, true, 5},
		{"and is asked for every time", 0, true, 6, true, 6},
		{"until there is one", 0, false, 7, false, 7},
	}
	for _, s := range steps {
		now = now.Add(s.pass)
		broken = nil
		if s.broken {
			broken = errors.New("broken")
		}
		got, err := m.Get(t.Context(), "key", look)
		if got != s.want && !s.wantError || (err != nil) != s.wantError || asked != s.wantAsked {
			t.Fatalf("%s: got %d, %v after %d lookups, want %d after %d", s.what, got, err, asked, s.want, s.wantAsked)
		}
	}
}

func TestMemoIsBounded(t *testing.T) {
	m := NewMemo[int](time.Now, time.Hour, time.Hour)
	for i := range 3 * maxAnswers {
		if _, err := m.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.answers) > maxAnswers {
		t.Errorf("%d answers are remembered, want at most %d", len(m.answers), maxAnswers)
	}
}
