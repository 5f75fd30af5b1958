package platform

import "sync"

// lazy builds a value once. A build that went wrong is tried again by the next
// caller, since its trouble may have passed.
type lazy[T any] struct {
	mu    sync.Mutex
	built bool
	value T
}

func (l *lazy[T]) get(build func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built {
		return l.value, nil
	}
	value, err := build()
	if err == nil {
		l.value, l.built = value, true
	}
	return value, err
}
