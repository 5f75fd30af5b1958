// Package fence keeps a process that may no longer lead from changing anything.
//
// A process that was stopped, or whose machine was suspended, does not notice it: it
// goes on where it was, with a lease that may be another's by now. So a Fence is
// asked just before each call that changes something, and lets it pass only while
// the last renewal of the lease is young.
package fence

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed is what a call is refused with.
var ErrClosed = errors.New("this process may not lead any more")

// Fence lets calls pass while a lease is fresh. It is closed until the first renewal.
// The nil Fence lets everything pass: there is no lease. It is safe for concurrent use.
type Fence struct {
	now func() Instant

	mu    sync.Mutex
	held  bool
	asked Instant       // when the last renewal that succeeded was asked for
	fresh time.Duration // how long it is good for
	ended string        // why nothing passes ever again
}

// New returns a closed Fence.
func New() *Fence { return &Fence{now: Now} }

// Now is the present by the Fence's clock.
func (f *Fence) Now() Instant { return f.now() }

// Renewed opens the fence for a time from the moment at which the renewal was asked
// for: that the answer took long must not make the lease look younger than it is.
func (f *Fence) Renewed(asked Instant, fresh time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held, f.asked, f.fresh = true, asked, fresh
}

// Close closes the fence for good.
func (f *Fence) Close(why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended == "" {
		f.ended = why
	}
}

// Check returns an error that is ErrClosed unless the lease is fresh.
func (f *Fence) Check() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch age := f.now().Sub(f.asked); {
	case f.ended != "":
		return fmt.Errorf("%w: %s", ErrClosed, f.ended)
	case !f.held:
		return fmt.Errorf("%w: it does not hold the lease", ErrClosed)
	case age >= f.fresh:
		return fmt.Errorf("%w: the lease was renewed %s ago, and another may lead soon", ErrClosed, age.Round(time.Millisecond))
	}
	return nil
}
