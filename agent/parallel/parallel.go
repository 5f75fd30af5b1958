// Package parallel does the same with many items, a bounded number of them at a time.
package parallel

import "golang.org/x/sync/errgroup"

// NodesAtOnce is how many nodes, or what belongs to them, are read, created, changed or deleted at the same time. One
// after another, each could wait for an admission webhook that hangs. How many requests the agent makes in a second is bounded elsewhere.
const NodesAtOnce = 64

// Each calls do with each of the items, for at most limit of them at a time, and
// returns when all calls have returned. What goes wrong is dealt with by do.
func Each[T any](limit int, items []T, do func(T)) {
	var g errgroup.Group
	g.SetLimit(limit)
	for _, item := range items {
		g.Go(func() error {
			do(item)
			return nil
		})
	}
	_ = g.Wait() // there are no errors
}
