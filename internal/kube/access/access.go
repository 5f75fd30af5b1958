// Package access follows the attempts to read a kind of resource, and reports whether its cache can be kept up to
// date.
package access

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// StaleAfter is how long attempts to refresh a cache may fail before that counts. An API server that is replaced, or
// too busy for a moment, is back before that. An informer tells of no watch that is refused because of too many requests,
// or whose connection is refused: it tries again by itself.
const StaleAfter = time.Minute

// apart is the time after which two failures are unrelated, because an attempt must have succeeded in between. An
// informer pauses for up to a minute between attempts, and the API server ends one after about a minute.
const apart = 3 * time.Minute

// State is the result of the attempts so far.
type State struct {
	Trouble error // the last failure to list or watch; nil after a success
	Barred  bool  // the cluster does not serve the kind, or the agent may not read it
	Missing bool  // the cluster does not serve the kind
	Stale   bool  // for another reason, the cache has not been refreshed for a while
}

// Record follows the attempts to read one kind. The zero value knows of none. Its methods are safe for concurrent use.
type Record struct {
	mu      sync.Mutex
	state   State
	since   time.Time // of the first failure after which the cache has not been refreshed
	last    time.Time // of the last attempt that was noted
	version string    // the resource version of the cache then
}

// State returns what the attempts have come to.
func (r *Record) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// Note records the result of an attempt, and the resource version of the cache after it. It returns whether the kind
// has been lost, or is back, for which why is nil.
func (r *Record) Note(err error, version string) (changed bool, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.state
	if before.Trouble == nil || r.version != version || !before.Stale && time.Since(r.last) > apart {
		r.since, r.version = time.Now(), version
	}
	r.last = time.Now()
	r.state = State{Trouble: err, Missing: apierrors.IsNotFound(err)}
	// Other errors, such as a lost connection, do not change it.
	r.state.Barred = Barred(err) || before.Barred && err != nil
	r.state.Stale = err != nil && !r.state.Barred && time.Since(r.since) >= StaleAfter
	lost := r.state.Barred || r.state.Stale
	if lost {
		why = err
	}
	return lost != (before.Barred || before.Stale), why
}

// Barred reports whether an error means that the cluster does not serve the kind, or that the agent may not read it.
func Barred(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }

// Refreshed reports whether a cache that was stale has been refreshed, and now has this resource version.
func (r *Record) Refreshed(version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Stale && r.version != version
}
