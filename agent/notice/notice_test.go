package notice_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/notice"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// world is a queue with notices, and the cluster that they are about.
type world struct {
	metrics      *metrics.Metrics
	batches      [][]offer.Notice
	refuse       error         // of deletions
	refuseMark   error         // of marks that the machine is interrupted
	keep         error         // of acknowledgements
	slow         time.Duration // deletions
	mu           sync.Mutex
	deleted      []string
	marked       []string
	acknowledged []string
	avoided      []string
	replanned    int
	snapshots    int
	log          bytes.Buffer
}

func (w *world) Receive(ctx context.Context) ([]offer.Notice, error) {
	if len(w.batches) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	batch := w.batches[0]
	w.batches = w.batches[1:]
	return batch, nil
}

func (w *world) Acknowledge(_ context.Context, handles ...string) error {
	w.acknowledged = append(w.acknowledged, handles...)
	return w.keep
}

func (w *world) CreateNode(context.Context, *corev1.Node, ...corev1.Taint) (bool, error) {
	return false, nil
}
func (w *world) Event(cluster.ObjectRef, string, string, string) {}
func (w *world) PatchNode(_ context.Context, name string, change cluster.NodeChange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if change.SetAnnotations[api.AnnotationInterrupted] != "" {
		if w.refuseMark != nil {
			return w.refuseMark
		}
		w.marked = append(w.marked, name)
	}
	return nil
}
func (w *world) DeleteNode(_ context.Context, name, _ string) error {
	time.Sleep(w.slow)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse == nil {
		w.deleted = append(w.deleted, name)
	}
	return w.refuse
}

// run acts on the notices for a minute.
func (w *world) run(t *testing.T, machines []cluster.Node, complete, runs bool) {
	t.Helper()
	w.metrics = metrics.New()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		watcher := &notice.Watcher{
			Notices: w, Events: event.NewRecorder(w), Metrics: w.metrics, Log: hclog.New(&hclog.LoggerOptions{Output: &w.log, Level: hclog.Warn}),
			Nodes: &nodes.Writer{API: w, Assumed: nodes.NewAssumptions(), Log: hclog.NewNullLogger(), Deleted: func() {}, Failed: func() {}, Refused: pace.NewRetries(time.Second, time.Minute)},
			Snapshot: func() *cluster.Snapshot {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.snapshots++
				return &cluster.Snapshot{Nodes: machines}
			},
			Complete: func() bool { return complete },
			Runs:     func(string) bool { return runs },
			Avoid: func(n *cluster.Node, _ string) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.avoided = append(w.avoided, n.Name)
			},
			Ended: func(*cluster.Node) {},
			Replan: func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.replanned++
			},
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = watcher.Run(ctx)
		}()
		time.Sleep(time.Minute)
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
	consolidated := deleting
	consolidated.Annotations = map[string]string{api.AnnotationDisruption: api.ReasonConsolidation}
	chosen := ours()
	chosen.Annotations = consolidated.Annotations
	foreign := ours()
	foreign.Finalizers = nil
	unheld := ours()
	unheld.Finalizers, unheld.Annotations = nil, map[string]string{api.AnnotationLaunchID: "launch-1"}
	for name, c := range map[string]struct {
		kind                           offer.NoticeKind
		node                           cluster.Node
		refuse, refuseMark             error
		incomplete, runs               bool
		deleted, avoided, acknowledged bool
		marked                         bool
	}{
		"a spot interruption":                         {kind: offer.NoticeSpotInterruption, node: ours(), deleted: true, avoided: true, acknowledged: true},
		"a rebalance recommendation":                  {kind: offer.NoticeRebalance, node: ours(), deleted: true, acknowledged: true},
		"planned maintenance":                         {kind: offer.NoticeScheduledChange, node: ours(), deleted: true, acknowledged: true},
		"the API server refuses":                      {kind: offer.NoticeScheduledChange, node: ours(), refuse: errors.New("away")},
		"a node that is going":                        {kind: offer.NoticeSpotInterruption, node: deleting, avoided: true, acknowledged: true},
		"consolidation drains it":                     {kind: offer.NoticeSpotInterruption, node: consolidated, marked: true, avoided: true, acknowledged: true},
		"consolidation drains it, and there is time":  {kind: offer.NoticeScheduledChange, node: consolidated, acknowledged: true},
		"consolidation has chosen it":                 {kind: offer.NoticeSpotInterruption, node: chosen, marked: true, deleted: true, avoided: true, acknowledged: true},
		"the API server refuses to mark it":           {kind: offer.NoticeSpotInterruption, node: chosen, refuseMark: errors.New("away"), deleted: true, avoided: true},
		"it refuses to mark a node that is going":     {kind: offer.NoticeSpotInterruption, node: consolidated, refuseMark: errors.New("away"), avoided: true},
		"its node has lost its finalizer":             {kind: offer.NoticeSpotInterruption, node: unheld, deleted: true, avoided: true, acknowledged: true},
		"a machine of others":                         {kind: offer.NoticeSpotInterruption, node: foreign, acknowledged: true},
		"a machine that may become a node":            {kind: offer.NoticeSpotInterruption, node: foreign, incomplete: true},
		"a machine whose node the caches do not show": {kind: offer.NoticeSpotInterruption, node: foreign, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{batches: [][]offer.Notice{{{Kind: c.kind, InstanceIDs: []string{"i-1"}, Handle: "h"}}}, refuse: c.refuse, refuseMark: c.refuseMark}
			w.run(t, []cluster.Node{c.node}, !c.incomplete, c.runs)
			if slices.Contains(w.deleted, "a") != c.deleted || (w.replanned > 0) != c.deleted {
				t.Errorf("deleted %v, planned again %d times, want %t", w.deleted, w.replanned, c.deleted)
			}
			if slices.Contains(w.avoided, "a") != c.avoided {
				t.Errorf("avoided %v, want %t", w.avoided, c.avoided)
			}
			if slices.Contains(w.acknowledged, "h") != c.acknowledged {
				t.Errorf("acknowledged %v, want %t", w.acknowledged, c.acknowledged)
			}
			if slices.Contains(w.marked, "a") != c.marked {
				t.Errorf("marked %v as interrupted, want %t", w.marked, c.marked)
			}
		})
	}
}

// A machine that ends before it is up counts as one that never came up, so that the alert for these fires.
func TestMachinesThatEnd(t *testing.T) {
	up := ours()
	up.Initialized = true
	for name, c := range map[string]struct {
		kind offer.NoticeKind
		node cluster.Node
		want string
	}{
		"before it is up":          {offer.NoticeStateChange, ours(), "never-up"},
		"when it was up":           {offer.NoticeStateChange, up, "interruption"},
		"it will, before it is up": {offer.NoticeSpotInterruption, ours(), "interruption"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{batches: [][]offer.Notice{{{Kind: c.kind, InstanceIDs: []string{"i-1"}, Handle: "h"}}}}
			w.run(t, []cluster.Node{c.node}, true, false)
			recorder := httptest.NewRecorder()
			w.metrics.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			var got []string
			for line := range strings.Lines(recorder.Body.String()) {
				if strings.HasPrefix(line, "packhorse_disruptions_total{") {
					got = append(got, line)
				}
			}
			if want := fmt.Sprintf("packhorse_disruptions_total{provisioner=\"default\",reason=%q} 1\n", c.want); !slices.Equal(got, []string{want}) {
				t.Errorf("counted %q, want %q", got, want)
			}
		})
	}
}

// What is too old calls for nothing, and is acknowledged: machines that have run on since are not drained all at once.
// Maintenance is announced days before.
func TestOldNotices(t *testing.T) {
	bubble := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when the time of testing/synctest begins
	for name, c := range map[string]struct {
		kind offer.NoticeKind
		age  time.Duration
		acts bool
	}{
		"a warning of a minute ago":      {offer.NoticeSpotInterruption, time.Minute, true},
		"an old warning":                 {offer.NoticeSpotInterruption, time.Hour, false},
		"an old warning of reclaim":      {offer.NoticeReservation, time.Hour, false},
		"an old recommendation":          {offer.NoticeRebalance, time.Hour, false},
		"an old change of state":         {offer.NoticeStateChange, time.Hour, false},
		"an old announcement":            {offer.NoticeScheduledChange, 48 * time.Hour, true},
		"a warning of a clock far ahead": {offer.NoticeSpotInterruption, -time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{batches: [][]offer.Notice{{{Kind: c.kind, InstanceIDs: []string{"i-1"}, At: bubble.Add(-c.age), Handle: "h"}}}}
			w.run(t, []cluster.Node{ours()}, true, true)
			if slices.Contains(w.deleted, "a") != c.acts || len(w.avoided) > 0 && !c.acts {
				t.Errorf("deleted %v, avoided %v, want %t", w.deleted, w.avoided, c.acts)
			}
			if !slices.Contains(w.acknowledged, "h") {
				t.Error("it is not acknowledged")
			}
			if warns := strings.Contains(w.log.String(), "older than ten minutes: notices=1 newest=1999-12-31T23:00:00Z"); warns == c.acts {
				t.Errorf("logged %q", w.log.String())
			}
		})
	}
}

// What SQS does not let the agent acknowledge comes again and again, and counts as an error of the cloud.
func TestNoticesThatCannotBeAcknowledged(t *testing.T) {
	w := &world{batches: [][]offer.Notice{{{Kind: offer.NoticeUnrelated, Handle: "h"}}}, keep: errors.New("sqs:DeleteMessage is denied")}
	w.run(t, nil, true, false)
	recorder := httptest.NewRecorder()
	w.metrics.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if want := `packhorse_cloud_errors_total{call="Acknowledge"} 1`; !strings.Contains(recorder.Body.String(), want) {
		t.Errorf("no %s", want)
	}
}

// Many machines are taken back at once, and each deletion of a node takes ten seconds. All nodes are being drained
// within a minute: the machines are there for two.
func TestManyNotices(t *testing.T) {
	w := &world{slow: 10 * time.Second}
	var machines []cluster.Node
	for batch := range 3 {
		var notices []offer.Notice
		for i := range 10 {
			n, id := ours(), fmt.Sprintf("i-%d-%d", batch, i)
			n.Name, n.ProviderID = id, "aws:///eu-west-1a/"+id
			machines = append(machines, n)
			notices = append(notices, offer.Notice{Kind: offer.NoticeSpotInterruption, InstanceIDs: []string{id}, Handle: id})
		}
		w.batches = append(w.batches, notices)
	}
	w.run(t, machines, true, true)
	if len(w.deleted) != 30 || len(w.acknowledged) != 30 {
		t.Errorf("%d of 30 nodes are deleted, and %d of 30 notices acknowledged", len(w.deleted), len(w.acknowledged))
	}
	if w.snapshots != 3 {
		t.Errorf("%d snapshots for 3 batches", w.snapshots)
	}
}

// What is said twice of a machine in one batch takes its node away once.
func TestNoticesAboutOneMachine(t *testing.T) {
	w := &world{batches: [][]offer.Notice{{
		{Kind: offer.NoticeRebalance, InstanceIDs: []string{"i-1"}, Handle: "h1"},
		{Kind: offer.NoticeSpotInterruption, InstanceIDs: []string{"i-1"}, Handle: "h2"},
	}}}
	w.run(t, []cluster.Node{ours()}, true, true)
	if len(w.deleted) != 1 || len(w.avoided) != 1 || len(w.acknowledged) != 2 {
		t.Errorf("deleted %v, avoided %v, acknowledged %v", w.deleted, w.avoided, w.acknowledged)
	}
}
