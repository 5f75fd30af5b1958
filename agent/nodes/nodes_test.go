package nodes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// failing answers each change and deletion with an error, and counts them.
type failing struct {
	API
	err   error
	calls int
}

func (f *failing) PatchNode(context.Context, string, cluster.NodeChange) error {
	f.calls++
	return f.err
}

func (f *failing) DeleteNode(context.Context, string, string) error {
	f.calls++
	return f.err
}

// What the API server refuses is tried again after longer and longer pauses, each kind of write to each node for
// itself. What fails in another way is tried again at once.
func TestRefusedWritesPause(t *testing.T) {
	mark := func(at string) cluster.NodeChange {
		return cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationEmptiness: at}}
	}
	one, other := &cluster.Node{Name: "one"}, &cluster.Node{Name: "other"}
	for _, c := range []struct {
		name  string
		write func(w *Writer, round int) bool
	}{
		{"a change, with the time of each attempt", func(w *Writer, round int) bool {
			return w.Patch(context.Background(), one, mark(fmt.Sprint(round)))
		}},
		{"a deletion", func(w *Writer, _ int) bool { return w.Delete(context.Background(), one) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, retries := &failing{err: fmt.Errorf("%w: by a policy", cluster.ErrRefused)}, 0
				w := &Writer{
					API: api, Assumed: NewAssumptions(), Log: hclog.NewNullLogger(), Deleted: func() {}, Failed: func() { retries++ },
					Refused: pace.NewRetries(2*time.Second, time.Minute),
				}
				for round := range 300 {
					c.write(w, round)
					time.Sleep(2 * time.Second)
				}
				if api.calls != 14 || retries != 0 {
					t.Errorf("%d calls and %d retries at once in ten minutes, want 14 and none", api.calls, retries)
				}
				both := &cluster.Snapshot{Nodes: []cluster.Node{*one, *other}}
				if at := w.Resumes(both); len(at) != 1 || time.Until(at[0]) > time.Minute {
					t.Errorf("resumes at %v, want within a minute", at)
				}
				api.calls, api.err = 0, nil
				if c.write(w, 0) || !w.Patch(t.Context(), one, cluster.NodeChange{RemoveAnnotations: []string{"x"}}) || !w.Patch(t.Context(), other, mark("")) || api.calls != 2 {
					t.Errorf("%d calls, want one for another change and one for another node", api.calls)
				}
				time.Sleep(time.Minute)
				if !c.write(w, 1) || !c.write(w, 2) || len(w.Resumes(both)) > 0 {
					t.Error("the pause does not end with a success")
				}
				api.calls, api.err = 0, errors.New("timeout")
				c.write(w, 3)
				c.write(w, 4)
				if api.calls != 2 || retries != 2 {
					t.Errorf("after timeouts: %d calls and %d retries, want 2", api.calls, retries)
				}
				api.err = cluster.ErrRefused
				c.write(w, 5)
				if at := w.Resumes(&cluster.Snapshot{}); len(at) != 0 || len(w.Resumes(both)) > 0 {
					t.Errorf("a node that is gone is remembered: %v", at)
				}
			})
		})
	}
}

// A node counts as refused if its deletion is refused or the finalizer that it needs before, but not if a change is
// that has nothing to do with its removal.
func TestRefusedNodes(t *testing.T) {
	held, bare := &cluster.Node{Name: "a", Finalizers: []string{api.Finalizer}}, &cluster.Node{Name: "a"}
	for name, c := range map[string]struct {
		write   func(w *Writer) bool
		refused bool
	}{
		"a deletion":     {func(w *Writer) bool { return w.Drain(t.Context(), held) }, true},
		"a finalizer":    {func(w *Writer) bool { return w.Drain(t.Context(), bare) }, true},
		"another change": {func(w *Writer) bool { return w.Patch(t.Context(), held, cluster.NodeChange{}) }, false},
	} {
		w := &Writer{
			API: &failing{err: cluster.ErrRefused}, Assumed: NewAssumptions(), Log: hclog.NewNullLogger(), Refused: pace.NewRetries(time.Second, time.Minute),
		}
		if c.write(w) {
			t.Errorf("%s: it succeeded", name)
		}
		if got := w.Assumed.Apply(&cluster.Snapshot{Nodes: []cluster.Node{*bare}}).Nodes[0].Refused; got != "" != c.refused {
			t.Errorf("%s: it counts as refused because of %q", name, got)
		}
	}
}
