package agent

import (
	"time"

	"golang.org/x/sync/errgroup"
)

// backOff is how long a loop rests after it has thought for a time: ten times as
// long, so that a large cluster that never comes to rest costs no more than a small
// share of a core, but between the least and a second.
func backOff(thought, least time.Duration) time.Duration {
	return max(least, min(10*thought, time.Second))
}

// each does something about all of them, several at a time.
func each[T any](all []T, do func(T)) {
	var g errgroup.Group
	g.SetLimit(patchesAtOnce)
	for _, one := range all {
		g.Go(func() error {
			do(one)
			return nil
		})
	}
	_ = g.Wait() // do deals with errors itself
}
