package surge

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

const (
	// patience is how long the replacements of the pods that leave may take until they are up. It
	// is what a Deployment allows a rollout by default.
	patience = 10 * time.Minute
	// ending is how long the ReplicaSet controller may take to end the pods that leave.
	ending = time.Minute
)

// action is what is to be done next about a record.
type action int

const (
	wait   action = iota
	grow          // mark the pods that leave, and make as many more
	finish        // note that pods in their places are up, and scale back
	shrink        // scale back, as was noted
	undo          // take the marks off, scale back unless somebody else has scaled, and forget it
	forget        // there is nothing to take back
)

// step is what is to be done next. Failed says why the pods could not be moved, where that is so; it
// completes a sentence that begins with the name of the Deployment.
type step struct {
	do     action
	failed string
	// refused says that the API server did not let the Deployment be scaled up.
	refused bool
	moved   bool
}

// state is what the next step follows from.
type state struct {
	record     *cluster.Surge
	deployment *cluster.Deployment // nil: it is gone
	left       int                 // pods that are to leave and do not yet
	covered    bool                // those that are to leave are all on the node, and surge moves them
	going      bool                // the node is to go voluntarily
	grown      bool                // it has been scaled up, and what is known of it is not older
	now        time.Time
}

// next says what is to be done about a record.
func next(s *state) step {
	r, d := s.record, s.deployment
	if d == nil {
		return step{do: forget}
	}
	ours := r.Grown(d)
	switch {
	case !ours && d.Before > 0:
		return step{do: undo} // it has grown for a record that is gone, or is not what it was
	case !ours && d.Replicas != r.Replicas:
		return step{do: undo, failed: fmt.Sprintf("was scaled to %d by somebody else meanwhile", d.Replicas)}
	case r.Back:
		return s.nextBack(ours)
	case s.left == 0 || !s.going:
		return step{do: undo}
	case s.now.Sub(r.Since) >= patience:
		return step{do: undo, failed: "did not have its extra pods ready after " + amount.ShortDuration(patience)}
	case ours && d.Settled && d.Available >= r.More():
		return step{do: finish}
	case ours:
		return step{}
	case s.grown:
		return step{do: undo, failed: "was scaled back by somebody else meanwhile"}
	case !s.covered:
		return step{do: undo}
	}
	return step{do: grow}
}

// nextBack is next once the replacements of the pods that leave are up.
func (s *state) nextBack(ours bool) step {
	switch {
	case ours:
		return step{do: shrink}
	case s.left == 0:
		return step{do: undo, moved: true}
	case s.now.Sub(s.record.Since) < ending:
		return step{}
	}
	return step{do: undo, failed: "removed other pods than those on the node"}
}
