package notice_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/notice"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// world is a queue with one notice, and the cluster that it is about.
type world struct {
	notice       offer.Notice
	refuse       error // of deletions
	received     bool
	deleted      []string
	acknowledged []string
	avoided      []string
	replanned    int
}

func (w *world) Receive(ctx context.Context) ([]offer.Notice, error) {
	if w.received {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	w.received = true
	return []offer.Notice{w.notice}, nil
}

func (w *world) Acknowledge(_ context.Context, handles ...string) error {
	w.acknowledged = append(w.acknowledged, handles...)
	return nil
}

func (w *world) CreateNode(context.Context, *corev1.Node) (bool, error)      { return false, nil }
func (w *world) PatchNode(context.Context, string, cluster.NodeChange) error { return nil }
func (w *world) Event(cluster.ObjectRef, string, string, string)             {}
func (w *world) DeleteNode(_ context.Context, name string) error {
	if w.refuse == nil {
		w.deleted = append(w.deleted, name)
	}
	return w.refuse
}

// run acts on the notice in a cluster with one node.
func (w *world) run(t *testing.T, node cluster.Node, complete, runs bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		watcher := &notice.Watcher{
			Notices: w, Events: event.NewRecorder(w), Metrics: metrics.New(), Log: hclog.NewNullLogger(),
			Nodes:    &nodes.Writer{API: w, Assumed: nodes.NewAssumptions(), Log: hclog.NewNullLogger(), Deleted: func() {}, Failed: func() {}},
			Snapshot: func() *cluster.Snapshot { return &cluster.Snapshot{Nodes: []cluster.Node{node}} },
			Complete: func() bool { return complete },
			Runs:     func(string) bool { return runs },
			Avoid:    func(n *cluster.Node, _ string) { w.avoided = append(w.avoided, n.Name) },
			Ended:    func(*cluster.Node) {},
			Replan:   func() { w.replanned++ },
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = watcher.Run(ctx)
		}()
		synctest.Wait()
		cancel()
		<-done
	})
}

func ours() cluster.Node {
	return cluster.Node{
		Name: "a", Provisioner: "default", ProviderID: "aws:///eu-west-1a/i-1", Finalizers: []string{api.Finalizer},
	}
}

// A notice about a machine of ours takes its node away at once, and is acknowledged only
// when that is recorded in the cluster.
func TestNotices(t *testing.T) {
	deleting := ours()
	deleting.Deleting = true
	foreign := ours()
	foreign.Finalizers = nil
	unheld := ours()
	unheld.Finalizers, unheld.Annotations = nil, map[string]string{api.AnnotationLaunchID: "launch-1"}
	for name, c := range map[string]struct {
		kind                           offer.NoticeKind
		node                           cluster.Node
		refuse                         error
		incomplete, runs               bool
		deleted, avoided, acknowledged bool
	}{
		"a spot interruption":                         {kind: offer.NoticeSpotInterruption, node: ours(), deleted: true, avoided: true, acknowledged: true},
		"planned maintenance":                         {kind: offer.NoticeScheduledChange, node: ours(), deleted: true, acknowledged: true},
		"the API server refuses":                      {kind: offer.NoticeScheduledChange, node: ours(), refuse: errors.New("away")},
		"a node that is going":                        {kind: offer.NoticeSpotInterruption, node: deleting, acknowledged: true},
		"its node has lost its finalizer":             {kind: offer.NoticeSpotInterruption, node: unheld, deleted: true, avoided: true, acknowledged: true},
		"a machine of others":                         {kind: offer.NoticeSpotInterruption, node: foreign, acknowledged: true},
		"a machine that may become a node":            {kind: offer.NoticeSpotInterruption, node: foreign, incomplete: true},
		"a machine whose node the caches do not show": {kind: offer.NoticeSpotInterruption, node: foreign, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{notice: offer.Notice{Kind: c.kind, InstanceIDs: []string{"i-1"}, Handle: "h"}, refuse: c.refuse}
			w.run(t, c.node, !c.incomplete, c.runs)
			if slices.Contains(w.deleted, "a") != c.deleted || (w.replanned > 0) != c.deleted {
				t.Errorf("deleted %v, planned again %d times, want %t", w.deleted, w.replanned, c.deleted)
			}
			if slices.Contains(w.avoided, "a") != c.avoided {
				t.Errorf("avoided %v, want %t", w.avoided, c.avoided)
			}
			if slices.Contains(w.acknowledged, "h") != c.acknowledged {
				t.Errorf("acknowledged %v, want %t", w.acknowledged, c.acknowledged)
			}
		})
	}
}
