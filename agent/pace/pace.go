// Package pace keeps loops and retries from running too often.
package pace

import (
	"context"
	"sync"
	"time"
)

// BackOff is how long a loop pauses after some work: ten times as long, so that a large
// cluster that never comes to rest costs no more than a small share of a core, but
// between the least and a second.
func BackOff(work, least time.Duration) time.Duration {
	return max(least, min(10*work, time.Second))
}

// Answer is how long a turn waits for the cloud's answer about a market or an order. Single
// requests end sooner; what takes many, such as the first look at the catalogue of an
// account that is throttled, goes on without the turn.
const Answer = 2 * time.Minute

// Sleep waits for d, or returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Retries say when what has failed may be tried again: after the first pause, and
// twice as long each time, up to the longest.
type Retries struct {
	first, longest time.Duration

	mu      sync.Mutex
	pauses  map[string]time.Duration
	resumes map[string]time.Time
}

// NewRetries returns one that has seen no failure.
func NewRetries(first, longest time.Duration) *Retries {
	return &Retries{first: first, longest: longest, pauses: map[string]time.Duration{}, resumes: map[string]time.Time{}}
}

// RefusalPause is the first pause of Refusals.
const RefusalPause = 10 * time.Minute

// Refusals returns Retries of what somebody has to put right first: after 10 minutes, then after twice as long each
// time, up to 6 hours.
func Refusals() *Retries { return NewRetries(RefusalPause, 6*time.Hour) }

// Due reports whether it may be tried now.
func (b *Retries) Due(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !time.Now().Before(b.resumes[key])
}

// Next returns when it may be tried again. It is zero if nothing has failed.
func (b *Retries) Next(key string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resumes[key]
}

// Resumes returns when what has failed may be tried again, of the keys to be kept. It forgets the others.
func (b *Retries) Resumes(keep func(key string) bool) (at []time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, t := range b.resumes {
		if keep(key) {
			at = append(at, t)
			continue
		}
		delete(b.pauses, key)
		delete(b.resumes, key)
	}
	return at
}

// Failed notes a failure.
func (b *Retries) Failed(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pauses[key] = min(max(b.first, 2*b.pauses[key]), b.longest)
	b.resumes[key] = time.Now().Add(b.pauses[key])
}

// Succeeded forgets the failures.
func (b *Retries) Succeeded(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pauses, key)
	delete(b.resumes, key)
}
