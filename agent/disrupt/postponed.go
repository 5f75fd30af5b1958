package disrupt

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// postponed are removals whose replacements are still being bought: a turn does not wait for slow purchases. They must
// be remembered: no later plan would choose the same nodes again, so that the new machines would be removed as empty
// and bought again at the next look. A restart loses them and causes this once.
type postponed struct {
	mu       sync.Mutex
	removals map[string]decide.Removal // by node; Starting holds all that they wait for
}

// add postpones a removal.
func (p *postponed) add(r *decide.Removal, replacements []string) {
	waits := *r
	waits.Replacements, waits.Starting = nil, replacements
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removals == nil {
		p.removals = map[string]decide.Removal{}
	}
	p.removals[r.Node] = waits
}

// take returns all of them, sorted by node, and forgets them.
func (p *postponed) take() []decide.Removal {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []decide.Removal
	for _, node := range slices.Sorted(maps.Keys(p.removals)) {
		out = append(out, p.removals[node])
	}
	p.removals = nil
	return out
}

// Postponed are the nodes whose removals wait for machines that are still being bought.
func (d *Disrupter) Postponed() map[string]bool {
	d.postponed.mu.Lock()
	defer d.postponed.mu.Unlock()
	out := map[string]bool{}
	for node := range d.postponed.removals {
		out[node] = true
	}
	return out
}

// Resume carries out the removals that were postponed and whose machines have all been bought
// since. Those of which a machine was not bought are dropped, and the others wait on. became
// returns the node that has come in the place of an expected one.
func (d *Disrupter) Resume(ctx context.Context, fresh *view.Verifier, became func(expected string) (node string, ok bool)) {
	var ready []decide.Removal
	for _, r := range d.postponed.take() {
		r.Replacements, r.Starting = r.Starting, nil // to be looked up once more
		ready = append(ready, r)
	}
	d.Remove(ctx, fresh, ready, func(name string) (string, bool) {
		if node, ok := became(name); ok {
			return node, true
		}
		return name, d.Buying(name) || fresh.Snapshot.Node(name) != nil
	})
}
