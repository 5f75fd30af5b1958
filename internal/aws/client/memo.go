package client

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Memo caches the answers of a lookup by key. It is safe for concurrent use.
type Memo[T any] struct {
	now      func() time.Time
	due      time.Duration // age at which an answer is looked up again
	outdated time.Duration // age at which an answer is not used any more

	mu      sync.Mutex
	answers map[string]*answer[T]
}

// answer is what is known for a key. The mutex of the Memo guards its fields.
type answer[T any] struct {
	value   T
	asked   time.Time     // of the last lookup that succeeded; zero: none has
	due     bool          // it is looked up again, whatever its age
	tried   time.Time     // when the last lookup ended
	err     error         // of the last lookup
	pause   time.Duration // after the last lookup, if it failed
	running *lookup       // nil: none
}

// lookup is a lookup that is under way. All callers share it.
type lookup struct {
	began time.Time
	done  chan struct{} // closed when it has ended
}

const (
	// RetryInterval is the pause after a failed lookup, during which the old answer is used.
	RetryInterval = 15 * time.Second
	// Patience is how long callers wait for a lookup if they can do without it. AWS usually
	// responds within a second. If a service hangs, a caller that asks for several things each
	// turn must not wait for all of them each time.
	Patience = 2 * time.Second
	// lookupTimeout is the time limit of a lookup, which may make several calls.
	lookupTimeout = 2 * time.Minute
)

// NextPause returns how long to wait after a lookup that has failed and of which there is no old answer,
// given the pause before it, or zero. It is short at first, because the failure may be over soon. Later,
// a failure that lasts, such as a missing permission, is not repeated by every look of every turn.
func NextPause(last time.Duration) time.Duration { return min(max(2*last, time.Second), RetryInterval) }

// maxAnswers is the number of keys at which the cache is emptied. It is more than a cluster has selectors: otherwise each turn would
// look all of them up again.
const maxAnswers = 5000

// NewMemo returns an empty cache. An answer is looked up again when it is as old as due.
// If that fails, the old answer is used until it is as old as outdated. A lookup that keeps failing
// is repeated after a second at first, and after RetryInterval in the end.
func NewMemo[T any](now func() time.Time, due, outdated time.Duration) *Memo[T] {
	return &Memo[T]{now: now, due: due, outdated: outdated, answers: map[string]*answer[T]{}}
}

// Get returns the answer for a key, cached or from lookUp. It returns an error only if the
// lookup failed and there is no answer that can still be used; see CollectOutdated. It waits for the first lookup
// of a key. Later it waits for two seconds at most, and then returns the old answer, or the
// error of the last lookup, while the new one goes on.
func (m *Memo[T]) Get(ctx context.Context, key string, lookUp func(context.Context) (T, error)) (T, error) {
	a, running, first := m.begin(ctx, key, lookUp)
	if running != nil {
		if !first {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, running.began.Add(Patience))
			defer cancel()
		}
		select {
		case <-running.done:
		case <-ctx.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.usable(a):
		if a.err != nil {
			noteOutdated(ctx, a.asked, a.asked.Add(m.outdated), a.err)
		}
		return a.value, nil
	case a.err != nil:
		return a.value, a.err
	}
	return a.value, fmt.Errorf("wait for an answer of AWS: %w", ctx.Err())
}

// Last returns the answer for a key that can still be used, without a lookup. It is zero if there is none.
func (m *Memo[T]) Last(key string) (value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.answers[key]; a != nil && m.usable(a) {
		value = a.value
	}
	return value
}

// begin returns what is known for a key. If that is due, it also returns the lookup that is under
// way, which it starts if there is none, and whether none has ended before.
func (m *Memo[T]) begin(ctx context.Context, key string, lookUp func(context.Context) (T, error)) (a *answer[T], running *lookup, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a = m.answer(key)
	now := m.now()
	first = a.tried.IsZero()
	pause := a.pause
	if m.usable(a) {
		pause = RetryInterval
	}
	switch {
	case !a.due && !a.asked.IsZero() && now.Sub(a.asked) < m.due:
		return a, nil, first
	case a.running != nil:
	case a.err != nil && now.Sub(a.tried) < pause:
		return a, nil, first
	default:
		a.running = &lookup{began: time.Now(), done: make(chan struct{})}
		go m.run(context.WithoutCancel(ctx), a, lookUp)
	}
	return a, a.running, first
}

// run makes a lookup.
func (m *Memo[T]) run(ctx context.Context, a *answer[T], lookUp func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	value, err := lookUp(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(a.running.done)
	a.tried, a.err, a.pause = m.now(), err, NextPause(a.pause)
	if err == nil {
		a.value, a.asked, a.due, a.pause = value, a.tried, false, 0
	}
	a.running = nil
}

// usable reports whether an answer is young enough to be used. The lock is held.
func (m *Memo[T]) usable(a *answer[T]) bool {
	return !a.asked.IsZero() && m.now().Sub(a.asked) < m.outdated
}

// Forget makes all answers be looked up again. Where that fails, the old answer is used as if it
// had only become due. A lookup that is under way does not count, because it may have begun too early.
func (m *Memo[T]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, a := range m.answers {
		m.answers[key] = &answer[T]{value: a.value, asked: a.asked, due: true, tried: a.tried, err: a.err, pause: a.pause}
	}
}

// answer returns the entry of a key. The lock is held.
func (m *Memo[T]) answer(key string) *answer[T] {
	if m.answers[key] == nil {
		if len(m.answers) >= maxAnswers {
			clear(m.answers)
		}
		m.answers[key] = &answer[T]{}
	}
	return m.answers[key]
}
