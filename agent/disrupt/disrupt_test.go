package disrupt_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/disrupt"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// world is a cluster with one node, a, that is marked for removal.
type world struct {
	snapshot *cluster.Snapshot
	pods     []cluster.Pod // on the node, as the API server knows them
	unread   error
	refusal  error            // to each change
	refusals map[string]error // to changes of a node
	mu       sync.Mutex
	changed  []string // nodes, and how
	ready    bool
	obstacle string // to the pods' surge
	surging  bool
	did      []string
	since    string // when the node was marked as chosen
}

func (w *world) Snapshot() *cluster.Snapshot { return w.snapshot }

func (w *world) PodsOn(context.Context, string) ([]cluster.Pod, error) { return w.pods, w.unread }
func (w *world) NodeReady(context.Context, string) (bool, error)       { return w.ready, w.unread }

func (w *world) CreateNode(context.Context, *corev1.Node, ...corev1.Taint) (bool, error) {
	return false, nil
}

func (w *world) PatchNode(_ context.Context, node string, change cluster.NodeChange) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(change.RemoveTaints) > 0:
		w.did, w.changed = append(w.did, "keep"), append(w.changed, "keep "+node)
	case len(change.AddTaints) > 0:
		w.did, w.since = append(w.did, "mark"), change.SetAnnotations[api.AnnotationDisruptedAt]
		w.changed = append(w.changed, "mark "+node)
	}
	if err := w.refusals[node]; err != nil {
		return err
	}
	return w.refusal
}

func (w *world) DeleteNode(context.Context, string, string) error {
	w.did = append(w.did, "delete")
	return nil
}

func (w *world) Obstacle(*cluster.Snapshot, []*cluster.Pod) string { return w.obstacle }

func (w *world) Clear(context.Context, *cluster.Snapshot, *cluster.Node, []*cluster.Pod) bool {
	return !w.surging
}

func (w *world) Event(cluster.ObjectRef, string, string, string) {}

func (w *world) disrupter(buying bool) *disrupt.Disrupter {
	note := func(what string) func() { return func() { w.did = append(w.did, what) } }
	return &disrupt.Disrupter{
		Cluster: w, Events: event.NewRecorder(w), Metrics: metrics.New(), Log: hclog.NewNullLogger(),
		Nodes:  &nodes.Writer{API: w, Assumed: nodes.NewAssumptions(), Log: hclog.NewNullLogger(), Deleted: func() {}, Failed: func() {}, Refused: pace.NewRetries(time.Second, time.Minute)},
		Surges: w, Unfinished: pace.Refusals(),
		Buying: func(string) bool { return buying },
		Replan: note("plan again"), Retry: note("retry"),
	}
}

func pod(name, node string) cluster.Pod {
	return cluster.Pod{
		PodKey: cluster.PodKey{Namespace: "default", Name: name, UID: name}, NodeName: node, State: cluster.PodBound, Template: &cluster.Template{},
	}
}

func marked(reason string) *cluster.Snapshot {
	return &cluster.Snapshot{
		Nodes: []cluster.Node{{Name: "a", Provisioner: "default", Annotations: map[string]string{api.AnnotationDisruption: reason}}},
		Pods:  []cluster.Pod{pod("web", "a")},
	}
}

func verifier(s *cluster.Snapshot) *view.Verifier {
	v := &view.View{Snapshot: s}
	return v.Verify(s, nil)
}

// A node that was chosen goes only if nothing has come to it since that speaks against it.
func TestRelease(t *testing.T) {
	protected := pod("web", "a")
	protected.Template = &cluster.Template{DoNotDisrupt: true}
	for name, c := range map[string]struct {
		reason   string
		obstacle string
		surging  bool
		verdict  decide.Verdict
		pods     []cluster.Pod
		unread   error
		want     []string
	}{
		"its pods have places":                 {reason: api.ReasonConsolidation, pods: []cluster.Pod{pod("web", "a")}, want: []string{"delete"}},
		"its replacements are not up yet":      {reason: api.ReasonConsolidation, verdict: decide.Wait},
		"the plan keeps it after all":          {reason: api.ReasonConsolidation, verdict: decide.Stay, want: []string{"keep"}},
		"a pod has come":                       {reason: api.ReasonConsolidation, pods: []cluster.Pod{pod("new", "a")}, want: []string{"keep", "plan again"}},
		"a pod has come to a drifted node":     {reason: api.ReasonDrift, pods: []cluster.Pod{pod("new", "a")}, want: []string{"plan again"}},
		"a pod must not be disrupted any more": {reason: api.ReasonConsolidation, pods: []cluster.Pod{protected}, want: []string{"keep", "plan again"}},
		"its pods are moved by surge":          {reason: api.ReasonConsolidation, surging: true},
		"its pods cannot be moved by surge":    {reason: api.ReasonConsolidation, verdict: decide.Wait, obstacle: "pod web was not moved", want: []string{"keep"}},
		"its pods cannot be read":              {reason: api.ReasonConsolidation, unread: errors.New("away"), want: []string{"retry"}},
	} {
		w := &world{snapshot: marked(c.reason), pods: c.pods, unread: c.unread, obstacle: c.obstacle, surging: c.surging}
		w.disrupter(false).Release(t.Context(), verifier(w.snapshot), []decide.Chosen{{Node: "a", Verdict: c.verdict}})
		if diff := cmp.Diff(c.want, w.did); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A node that goes because it does not work goes only if the API server does not know better than the caches.
func TestRemoveAsksWhetherANodeIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		goes   decide.Removal
		ready  bool // as the caches show it
		now    bool // as the API server knows it
		pods   []cluster.Pod
		unread error
		want   []string
	}{
		"unhealthy":                     {goes: decide.Removal{Node: "a", Reason: decide.Unhealthy}, want: []string{"delete"}},
		"its kubelet answers again":     {goes: decide.Removal{Node: "a", Reason: decide.Unhealthy}, now: true, want: []string{"retry"}},
		"it cannot be read":             {goes: decide.Removal{Node: "a", Reason: decide.Unhealthy}, unread: errors.New("away"), want: []string{"retry"}},
		"it did not come up":            {goes: decide.Removal{Node: "a", Reason: decide.NeverUp}, want: []string{"delete"}},
		"it has come up by now":         {goes: decide.Removal{Node: "a", Reason: decide.NeverUp}, now: true, want: []string{"retry"}},
		"its startup taints stay":       {goes: decide.Removal{Node: "a", Reason: decide.NeverUp}, ready: true, now: true, want: []string{"delete"}},
		"they stay, and a pod has come": {goes: decide.Removal{Node: "a", Reason: decide.NeverUp}, ready: true, now: true, pods: []cluster.Pod{pod("new", "a")}, want: []string{"plan again"}},
		"its Provisioner is deleted":    {goes: decide.Removal{Node: "a", Reason: decide.Orphaned}, now: true, want: []string{"delete"}},
	} {
		s := marked("")
		s.Pods = nil
		for i := range s.Nodes {
			s.Nodes[i].Ready = c.ready
		}
		w := &world{snapshot: s, ready: c.now, pods: c.pods, unread: c.unread}
		w.disrupter(false).Remove(t.Context(), verifier(s), []decide.Removal{c.goes}, nil)
		if diff := cmp.Diff(c.want, w.did); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A node that goes voluntarily is marked only when each machine that replaces it has been
// bought.
func TestRemoveWaitsForReplacements(t *testing.T) {
	for name, c := range map[string]struct {
		bought, buying bool
		reason         decide.RemovalReason
		want           []string
	}{
		"bought":                  {bought: true, reason: decide.Consolidated, want: []string{"mark"}},
		"not bought":              {reason: decide.Consolidated},
		"another is being bought": {bought: true, buying: true, reason: decide.Consolidated},
		"it must go at once":      {reason: decide.Orphaned, want: []string{"delete"}},
	} {
		s := marked("")
		s.Pods = nil
		w := &world{snapshot: s}
		removal := decide.Removal{Node: "a", Reason: c.reason, Replacements: []string{"m1"}, Starting: []string{"b"}}
		w.disrupter(c.buying).Remove(t.Context(), verifier(s), []decide.Removal{removal}, func(string) (string, bool) { return "c", c.bought })
		if diff := cmp.Diff(c.want, w.did); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A step of consolidation is carried out for all of its nodes or for none. Other removals do not depend on each other. For a
// step that was not carried out, no machines are bought again at once.
func TestRemoveWholeSteps(t *testing.T) {
	step := func(reason decide.RemovalReason) []decide.Removal {
		out := []decide.Removal{{Node: "a", Reason: reason, Replacements: []string{"m1", "m2"}}, {Node: "b", Reason: reason, Replacements: []string{"m1", "m2"}}}
		if reason == decide.Consolidated {
			out[0].Step, out[1].Step = []string{"a", "b"}, []string{"a", "b"}
		}
		return append(out, decide.Removal{Node: "c", Reason: reason, Replacements: []string{"m3"}})
	}
	for name, c := range map[string]struct {
		reason  decide.RemovalReason
		changed bool   // b, since the plan
		refuses string // the node that cannot be marked
		want    []string
		rest    []string // the nodes in whose place no machines are bought for now
	}{
		"all nodes are as planned":              {reason: decide.Consolidated, want: []string{"mark a", "mark b", "mark c"}},
		"a node has changed":                    {reason: decide.Consolidated, changed: true, want: []string{"mark c"}, rest: []string{"a", "b"}},
		"a node cannot be marked":               {reason: decide.Consolidated, refuses: "b", want: []string{"keep a", "mark a", "mark b", "mark c"}, rest: []string{"a", "b"}},
		"a drifted node has changed":            {reason: decide.Drifted, changed: true, want: []string{"mark a", "mark c"}},
		"a node of another step was not marked": {reason: decide.Consolidated, refuses: "c", want: []string{"mark a", "mark b", "mark c"}, rest: []string{"c"}},
	} {
		was, is := marked(""), marked("")
		for _, s := range []*cluster.Snapshot{was, is} {
			s.Pods = nil
			s.Nodes = append(s.Nodes, cluster.Node{Name: "b", Provisioner: "default"}, cluster.Node{Name: "c", Provisioner: "default"})
		}
		is.Nodes[1].Unschedulable = c.changed
		w := &world{snapshot: is, refusals: map[string]error{c.refuses: errors.New("away")}}
		planned := &view.View{Snapshot: was}
		d := w.disrupter(false)
		d.Remove(t.Context(), planned.Verify(is, nil), step(c.reason), func(m string) (string, bool) { return m, true })
		slices.Sort(w.changed)
		if diff := cmp.Diff(c.want, w.changed); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
		if rest := slices.Sorted(maps.Keys(d.Unreplaced(is))); !slices.Equal(rest, c.rest) {
			t.Errorf("%s: no machines are bought in place of %v, want %v", name, rest, c.rest)
		}
	}
}

// A node that a policy keeps from being marked counts as refused, so that no later plan buys its replacement again.
func TestRefusedMark(t *testing.T) {
	s := marked("")
	s.Pods = nil
	w := &world{snapshot: s, refusal: fmt.Errorf("change node a: %w: by a policy", cluster.ErrRefused)}
	d := w.disrupter(false)
	d.Remove(t.Context(), verifier(s), []decide.Removal{{Node: "a", Reason: decide.Drifted, Starting: []string{"b"}}}, nil)
	if got := d.Nodes.Assumed.Apply(s).Node("a").Refused; !strings.HasPrefix(got, "the agent could not change node a: ") {
		t.Errorf("it counts as refused because of %q", got)
	}
}

// A removal whose machines are still being bought is carried out once all of them have been,
// and dropped where one of them has not. The mark has the time of the plan, so that pods count
// that have come meanwhile.
func TestRemoveIsPostponed(t *testing.T) {
	for name, c := range map[string]struct {
		became map[string]string
		buying map[string]bool
		waits  bool
		want   []string
	}{
		"nothing is bought yet": {buying: map[string]bool{"m1": true, "m2": true}, waits: true},
		"one is bought":         {became: map[string]string{"m1": "b"}, buying: map[string]bool{"m2": true}, waits: true},
		"both are bought":       {became: map[string]string{"m1": "b", "m2": "c"}, want: []string{"mark"}},
		"one was not bought":    {became: map[string]string{"m1": "b"}},
	} {
		s := marked("")
		s.Pods = nil
		w := &world{snapshot: s}
		d := w.disrupter(true)
		removal := decide.Removal{Node: "a", Reason: decide.Consolidated, Planned: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Replacements: []string{"default-1", "default-2"}}
		expected := map[string]string{"default-1": "m1", "default-2": "m2"}
		d.Remove(t.Context(), verifier(s), []decide.Removal{removal}, func(machine string) (string, bool) { return expected[machine], true })
		if !d.Postponed()["a"] || len(w.did) > 0 {
			t.Errorf("%s: it is not postponed: %v", name, w.did)
		}
		d.Buying = func(node string) bool { return c.buying[node] }
		d.Resume(t.Context(), verifier(s), func(expected string) (string, bool) { node, ok := c.became[expected]; return node, ok })
		if diff := cmp.Diff(c.want, w.did); diff != "" || d.Postponed()["a"] != c.waits {
			t.Errorf("%s: waits %v, -want +got\n%s", name, d.Postponed(), diff)
		}
		if len(c.want) > 0 && w.since != "2026-01-01T12:00:00Z" {
			t.Errorf("%s: the node was chosen at %s", name, w.since)
		}
	}
}
