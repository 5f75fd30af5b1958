package agent

import (
	"sync"
	"time"
)

// backoff says when what has failed may be tried again: after the first pause, and
// twice as long each time, up to the longest.
type backoff struct {
	first, longest time.Duration

	mu      sync.Mutex
	pauses  map[string]time.Duration
	resumes map[string]time.Time
}

func newBackoff(first, longest time.Duration) *backoff {
	return &backoff{first: first, longest: longest, pauses: map[string]time.Duration{}, resumes: map[string]time.Time{}}
}

func (b *backoff) due(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !time.Now().Before(b.resumes[key])
}

func (b *backoff) failed(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pauses[key] = min(max(b.first, 2*b.pauses[key]), b.longest)
	b.resumes[key] = time.Now().Add(b.pauses[key])
}

func (b *backoff) succeeded(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pauses, key)
	delete(b.resumes, key)
}
