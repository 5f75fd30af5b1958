package client

import (
	"context"
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

type answer[T any] struct {
	mu    sync.Mutex // held during a lookup, so that concurrent callers share it
	value T
	asked time.Time // of the last lookup that succeeded; zero: none has
	tried time.Time // of the last lookup
}

// RetryInterval is the pause after a failed lookup, during which the old answer is used.
const RetryInterval = 15 * time.Second

// maxAnswers is the number of keys at which the cache is emptied.
const maxAnswers = 500

// NewMemo returns an empty cache. An answer is looked up again when it is as old as due.
// If that fails, the old answer is used until it is as old as outdated.
func NewMemo[T any](now func() time.Time, due, outdated time.Duration) *Memo[T] {
	return &Memo[T]{now: now, due: due, outdated: outdated, answers: map[string]*answer[T]{}}
}

// Get returns the answer for a key, cached or from lookUp. It returns an error only if the
// lookup failed and there is no answer that can still be used.
func (m *Memo[T]) Get(ctx context.Context, key string, lookUp func(context.Context) (T, error)) (T, error) {
	a := m.answer(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := m.now()
	known := !a.asked.IsZero()
	if known && now.Sub(a.asked) < m.due {
		return a.value, nil
	}
	usable := known && now.Sub(a.asked) < m.outdated
	if usable && now.Sub(a.tried) < RetryInterval {
		return a.value, nil
	}
	a.tried = now
	value, err := lookUp(ctx)
	switch {
	case err == nil:
		a.value, a.asked = value, now
	case !usable:
		return value, err
	}
	return a.value, nil
}

// Forget empties the cache.
func (m *Memo[T]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.answers)
}

func (m *Memo[T]) answer(key string) *answer[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers[key] == nil {
		if len(m.answers) >= maxAnswers {
			clear(m.answers)
		}
		m.answers[key] = &answer[T]{}
	}
	return m.answers[key]
}
