package client

import (
	"context"
	"sync"
	"time"
)

// Memo remembers the answers of a lookup by key. An answer that is due is looked
// up again; while that fails, the old one is served until it is outdated.
type Memo[T any] struct {
	now      func() time.Time
	due      time.Duration
	outdated time.Duration

	mu      sync.Mutex
	answers map[string]*answer[T]
}

type answer[T any] struct {
	mu    sync.Mutex // held during a lookup, so that each is made once
	value T
	asked time.Time // zero: never answered
	tried time.Time
}

// RetryInterval is how long after a lookup that failed the old answer is served before the
// next.
const RetryInterval = 15 * time.Second

// maxAnswers bounds the keys that are remembered.
const maxAnswers = 500

// NewMemo returns one whose answers are due, and outdated, after these times.
func NewMemo[T any](now func() time.Time, due, outdated time.Duration) *Memo[T] {
	return &Memo[T]{now: now, due: due, outdated: outdated, answers: map[string]*answer[T]{}}
}

// Get returns the answer of a key.
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

// Forget has everything looked up again.
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
