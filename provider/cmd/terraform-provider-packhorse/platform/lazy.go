package platform

import (
	"context"
	"sync"
	"time"
)

// pause is how long a build that went wrong is not tried again: long enough for all
// who have waited for it, so that a server that hangs does not hold up each of them.
const pause = 5 * time.Second

// lazy builds a value once. A build that went wrong is tried again some seconds
// later, since its trouble may have passed.
type lazy[T any] struct {
	mu    sync.Mutex
	built bool
	value T

	failed time.Time
	err    error
}

func (l *lazy[T]) get(ctx context.Context, build func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built || l.err != nil && time.Since(l.failed) < pause {
		return l.value, l.err
	}
	value, err := build()
	switch {
	case err == nil:
		l.value, l.built, l.err = value, true, nil
	case ctx.Err() == nil: // what a caller has cancelled says nothing to others
		l.failed, l.err = time.Now(), err
	}
	return value, err
}
