package platform

import (
	"context"
	"sync"
	"time"
)

// pause is how long a failed build is not repeated, so that all callers that were waiting for it
// get its error, and not each of them waits for a server that does not respond.
const pause = 5 * time.Second

// lazy builds a value on first use. A failed build is repeated after some seconds, because the
// failure may have been temporary.
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
	case ctx.Err() == nil: // if the caller has cancelled the build, its error is not for others
		l.failed, l.err = time.Now(), err
	}
	return value, err
}
