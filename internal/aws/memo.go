package aws

import (
	"context"
	"sync"
	"time"
)

// memo remembers the answers of a lookup by key. An answer that is due is looked
// up again; while that fails, the old one is served until it is outdated.
type memo[T any] struct {
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

// After a lookup that failed, the old answer is served this long before the next.
const retryInterval = 15 * time.Second

// maxAnswers bounds the keys that are remembered.
const maxAnswers = 500

func newMemo[T any](now func() time.Time, due, outdated time.Duration) *memo[T] {
	return &memo[T]{now: now, due: due, outdated: outdated, answers: map[string]*answer[T]{}}
}

func (m *memo[T]) get(ctx context.Context, key string, lookUp func(context.Context) (T, error)) (T, error) {
	a := m.answer(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	now := m.now()
	known := !a.asked.IsZero()
	if known && now.Sub(a.asked) < m.due {
		return a.value, nil
	}
	usable := known && now.Sub(a.asked) < m.outdated
	if usable && now.Sub(a.tried) < retryInterval {
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

// forget has everything looked up again.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.answers)
}

func (m *memo[T]) answer(key string) *answer[T] {
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
