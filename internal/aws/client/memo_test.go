package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
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
		{"and is not asked for by every look", 0, true, 5, true, 5},
		{"but after a pause", RetryInterval, true, 6, true, 6},
		{"until there is one", RetryInterval, false, 7, false, 7},
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
		if s.wantError {
			got = 0
		}
		if last := m.Last("key"); last != got || m.Last("another") != 0 {
			t.Fatalf("%s: the last answer is %d, want %d", s.what, last, got)
		}
	}
}

// A lookup that is denied from the start is repeated soon, but not by every look without end.
func TestMemoOfADeniedLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemo[int](time.Now, time.Minute, time.Hour)
		asked := 0
		denied := func(context.Context) (int, error) { asked++; return 0, errors.New("denied") }
		look := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				if _, err := m.Get(t.Context(), "key", denied); err == nil || err.Error() != "denied" {
					t.Fatalf("error %v", err)
				}
			}
		}
		look(3 * time.Second)
		if asked != 2 {
			t.Errorf("asked %d times in 3 seconds, want twice", asked)
		}
		look(10 * time.Minute)
		if asked < 40 || asked > 45 {
			t.Errorf("asked %d times in 10 minutes, want once in 15 seconds", asked)
		}
		time.Sleep(RetryInterval)
		if got, err := m.Get(t.Context(), "key", func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
			t.Errorf("once it is allowed: %d, %v", got, err)
		}
	})
}

// A service that hangs keeps nobody waiting who can do without its answer.
func TestMemoOfAServiceThatHangs(t *testing.T) {
	hang := func(ctx context.Context) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, CallTimeout)
		defer cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	}
	answers := func(context.Context) (int, error) { return 7, nil }
	for name, c := range map[string]struct {
		first     func(context.Context) (int, error)
		want      int
		wantError bool
	}{
		"after an answer": {first: answers, want: 7},
		"after a failure": {first: hang, wantError: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewMemo[int](time.Now, time.Minute, time.Hour)
				_, _ = m.Get(t.Context(), "key", c.first)
				time.Sleep(2 * time.Minute)
				began := time.Now()
				var all sync.WaitGroup
				for range 20 { // as many Provisioners
					all.Go(func() {
						for range 4 { // as often in a turn
							if got, err := m.Get(t.Context(), "key", hang); got != c.want || (err != nil) != c.wantError {
								t.Errorf("got %d, %v", got, err)
							}
						}
					})
				}
				all.Wait()
				if took := time.Since(began); took > Patience {
					t.Errorf("callers waited for %s", took)
				}
				time.Sleep(time.Minute)
				if got, err := m.Get(t.Context(), "key", answers); got != 7 || err != nil {
					t.Errorf("once it answers: %d, %v", got, err)
				}
			})
		})
	}
}

// What is forgotten is looked up at once. Until that succeeds, everybody goes on with the old answer:
// it was forgotten because of one caller's failure.
func TestMemoThatForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemo[int](time.Now, time.Minute, time.Hour)
		gives := func(value int, err error) func(context.Context) (int, error) {
			return func(context.Context) (int, error) { return value, err }
		}
		hang := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		began := time.Now()
		for _, s := range []struct {
			what   string
			forget bool
			lookUp func(context.Context) (int, error)
			want   int
		}{
			{"first", false, gives(1, nil), 1},
			{"another look", true, gives(2, nil), 2},
			{"no other look", false, gives(3, nil), 2},
			{"a look that fails", true, gives(0, errors.New("broken")), 2},
			{"no look at once", true, gives(4, nil), 2},
		} {
			if s.forget {
				m.Forget()
			}
			if got, err := m.Get(t.Context(), "key", s.lookUp); got != s.want || err != nil {
				t.Errorf("%s: got %d, %v, want %d", s.what, got, err, s.want)
			}
		}
		time.Sleep(RetryInterval)
		for range 2 {
			if got, err := m.Get(t.Context(), "key", hang); got != 2 || err != nil {
				t.Errorf("from a service that hangs: %d, %v", got, err)
			}
			m.Forget() // also that look
		}
		if took := time.Since(began); took != RetryInterval+2*Patience {
			t.Errorf("it took %s", took)
		}
		if got, err := m.Get(t.Context(), "key", gives(5, nil)); got != 5 || err != nil {
			t.Errorf("once it answers: %d, %v", got, err)
		}
		time.Sleep(time.Hour)
		if _, err := m.Get(t.Context(), "key", hang); err == nil {
			t.Error("an outdated answer is used")
		}
		time.Sleep(lookupTimeout) // for the look that hangs
	})
}

// The first caller that gives up does not end the lookup for the others.
func TestMemoOutlivesItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemo[int](time.Now, time.Minute, time.Hour)
		slow := func(ctx context.Context) (int, error) {
			select {
			case <-time.After(10 * time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Get(hasty, "key", slow); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the caller's own time limit: %v", err)
		}
		if got, err := m.Get(t.Context(), "key", slow); got != 7 || err != nil {
			t.Errorf("the next caller got %d, %v", got, err)
		}
	})
}

// If the selectors of all node profiles did not fit, each turn would empty the cache and ask EC2 again.
func TestMemoKeepsTheAnswersOfAThousandSelectors(t *testing.T) {
	m := NewMemo[int](time.Now, time.Hour, time.Hour)
	asked := 0
	for range 2 {
		for i := range 1000 {
			if _, err := m.Get(t.Context(), fmt.Sprint(i), func(context.Context) (int, error) { asked++; return i, nil }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked != 1000 {
		t.Errorf("%d lookups of 1000 selectors, want one of each", asked)
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
