package planreport

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// sink keeps events.
type sink []string

func (s *sink) Event(ref cluster.ObjectRef, _, reason, message string) {
	*s = append(*s, ref.Kind+" "+ref.Name+": "+reason+": "+message)
}

// Reasons that name each pod, or as many owners as pods, do not flood the log.
func TestLogLinesOfUnplaceablePodsAreBounded(t *testing.T) {
	var log bytes.Buffer
	r := &Reporter{Events: event.NewRecorder(new(sink)), Log: hclog.New(&hclog.LoggerOptions{Output: &log})}
	plan, s := &decide.Plan{}, &cluster.Snapshot{}
	for i := range 3000 {
		key := cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%d", i), UID: fmt.Sprint(i)}
		s.Pods = append(s.Pods, cluster.Pod{PodKey: key, Owner: cluster.Owner{Kind: "Job", Name: key.Name, UID: "job-" + key.UID}, Template: &cluster.Template{}})
		plan.Unplaced = append(plan.Unplaced, decide.Unplaced{Pod: key, Reason: "it is too large"})
	}
	r.Unplaced(s, plan)
	if got := strings.Count(log.String(), "could not place pods"); got != loggedCauses {
		t.Errorf("%d lines, want %d", got, loggedCauses)
	}
	if !strings.Contains(log.String(), fmt.Sprintf("pods=%d", 3000-loggedCauses)) {
		t.Error("no line counts the others")
	}
}

// A pod gets an event for each change, and again before the last one is forgotten.
func TestEventsAreRepeatedBeforeTheyAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events sink
		r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
		pod := cluster.PodKey{Namespace: "default", Name: "web", UID: "1"}
		for i, c := range []struct {
			after time.Duration
			text  string
			want  int
		}{
			{0, "fits node a", 1}, {time.Minute, "fits node a", 1}, {0, "fits node b", 2}, {event.RepeatAfter, "fits node b", 3},
		} {
			time.Sleep(c.after)
			if r.Nominated(pod, c.text); len(events) != c.want {
				t.Errorf("step %d: %d events, want %d", i, len(events), c.want)
			}
		}
		for waiting, want := range map[string]int{pod.UID: 1, "another": 0} {
			r.Nominated(pod, "fits node a")
			if r.Keep(map[string]bool{waiting: true}); len(r.pods) != want {
				t.Errorf("%d pods are remembered while pod %s waits, want %d", len(r.pods), waiting, want)
			}
		}
	})
}

// A DaemonSet that fits on no machine of a Provisioner is told so again only before that is forgotten, also if a plan in
// between says nothing of it.
func TestDaemonSetsThatFitNowhereAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events sink
		r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
		left := func(reason string) *decide.Plan {
			return &decide.Plan{LeftOut: []decide.LeftOut{{
				DaemonSet: cluster.ObjectRef{Kind: "DaemonSet", Name: "heavy"}, Provisioners: []string{"a", "b"}, Reason: reason,
			}}}
		}
		for i, c := range []struct {
			after time.Duration
			plan  *decide.Plan
			want  int
		}{
			{0, left("too large"), 1}, {time.Minute, left("too large"), 1}, {0, &decide.Plan{}, 1}, {0, left("too large"), 1},
			{0, left("larger still"), 2}, {event.RepeatAfter, left("larger still"), 3},
		} {
			time.Sleep(c.after)
			if r.Unplaced(&cluster.Snapshot{}, c.plan); len(events) != c.want {
				t.Errorf("step %d: %q, want %d events", i, events, c.want)
			}
		}
		if want := "DaemonSet heavy: Unplaceable: fits on no machine of the provisioners a, b, where no room is kept for it: too large"; len(events) == 0 || events[0] != want {
			t.Errorf("%q, want first %q", events, want)
		}
	})
}

// A node in use says why it stays once for as long as that lasts, and is silent on what
// passes by itself. A reason that comes again soon is not said again.
func TestNodesInUseSayWhyTheyStay(t *testing.T) { synctest.Test(t, nodesInUseSayWhyTheyStay) }

func nodesInUseSayWhyTheyStay(t *testing.T) {
	var events sink
	r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
	stay := func(blocker retire.Blocker, why string) *decide.Consolidation {
		return &decide.Consolidation{Stays: []decide.StayingNode{{Node: "n1", Blocker: blocker, Why: why}}}
	}
	wait := func(why string) *decide.Consolidation {
		return &decide.Consolidation{Steps: []decide.Step{{Nodes: []string{"n1"}, Blocker: retire.BlockedUnpaid, Why: why}}}
	}
	going := &decide.Consolidation{Steps: []decide.Step{{Nodes: []string{"n1"}, Going: true}}}
	const said = "Node n1: NotConsolidated: stays (protection): pod a must not be disrupted"
	protected := stay(retire.BlockedProtection, "pod a must not be disrupted")
	for i, c := range []struct {
		after time.Duration
		found *decide.Consolidation
		want  string // the event that it makes
	}{
		{0, protected, said},
		{0, protected, ""},
		{0, stay(retire.BlockedQuiet, "pods came or went"), ""},
		{0, protected, ""},
		{0, stay(retire.BlockedPDB, "a budget"), "Node n1: NotConsolidated: stays (pdb): a budget"},
		{0, wait("it has not wasted enough"), "Node n1: NotConsolidated: stays (does-not-pay): it has not wasted enough"},
		{0, stay(retire.BlockedUnpaid, "no cheaper place was found"), ""},
		{0, stay(retire.BlockedSpot, "15 types are needed, not 3"), "Node n1: NotConsolidated: stays (spot): 15 types are needed, not 3"},
		{0, stay(retire.BlockedSpot, "15 types are needed, not 4"), ""},
		{0, going, ""},
		{0, protected, ""},
		{event.RepeatAfter - 1, protected, ""},
		{event.RepeatAfter - 1, protected, ""},
		{0, nil, ""},
		{event.RepeatAfter, protected, said},
	} {
		events = nil
		time.Sleep(c.after)
		r.InUse(c.found)
		if got := strings.Join(events, "\n"); got != c.want {
			t.Errorf("step %d: %q, want %q", i, got, c.want)
		}
	}
	if recent := r.Events.Recent(); len(recent) > 0 {
		t.Errorf("the status page, which lists these nodes, repeats %v", recent)
	}
}

// A node on which Jobs come and go stays for the same reason all day, whichever pod is the first that has it.
func TestNodesSayOnceThatTheyStayForPodsThatComeAndGo(t *testing.T) {
	var events sink
	r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
	tell := func(why string) {
		r.InUse(&decide.Consolidation{Stays: []decide.StayingNode{{Node: "n1", Blocker: retire.BlockedProtection, Why: why}}})
		r.Kept(&decide.Plan{Kept: []decide.Kept{{Node: "n1", Reason: decide.Drifted, Why: why}}})
	}
	for i := range 3 {
		tell(fmt.Sprintf("pod ci/job-%d of a Job will finish by itself; the node is kept until then", i))
	}
	tell("pod ci/job-3 must not be disrupted")
	want := []string{
		"Node n1: NotConsolidated: stays (protection): pod ci/job-0 of a Job will finish by itself; the node is kept until then",
		"Node n1: Kept: has drifted but is kept: pod ci/job-0 of a Job will finish by itself; the node is kept until then",
		"Node n1: NotConsolidated: stays (protection): pod ci/job-3 must not be disrupted",
		"Node n1: Kept: has drifted but is kept: pod ci/job-3 must not be disrupted",
	}
	if diff := cmp.Diff(want, []string(events)); diff != "" {
		t.Errorf("events: -want +got\n%s", diff)
	}
}

// A reason in which only times, ids and what is in use of a limit change is the same reason, also if it did not hold for
// a while, as while a machine is being bought.
func TestReasonsThatChangeOnlyInDetailAreSaidOnce(t *testing.T) {
	pod := cluster.PodKey{Namespace: "default", Name: "web-1", UID: "1"}
	s := &cluster.Snapshot{}
	var unplaced []decide.Unplaced
	for i := range 4 {
		p := pod
		p.UID = fmt.Sprint(i)
		s.Pods = append(s.Pods, cluster.Pod{PodKey: p, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}, Template: &cluster.Template{}})
		unplaced = append(unplaced, decide.Unplaced{Pod: p})
	}
	const denied = "operation error EC2: CreateFleet, https response error StatusCode: 403, RequestID: %s, api error UnauthorizedOperation: " +
		"You are not authorized to perform this operation. Encoded authorization failure message: %s; next attempt at 12:00:%s UTC"
	for name, reasons := range map[string][2]string{
		"until when EC2 has no capacity": {
			"default has no offering available now: p5.48xlarge in eu-west-1a (on-demand): insufficient capacity until 12:00:00",
			"default has no offering available now: p5.48xlarge in eu-west-1a (on-demand): insufficient capacity until 12:03:07",
		},
		"a call that AWS denies": {fmt.Sprintf(denied, "0-1-a", "Qk1_x", "00"), fmt.Sprintf(denied, "0-2-b", "Zk2-y", "10")},
		"a call without an answer": {
			"https response error StatusCode: 0, RequestID: , request send failed: read tcp 10.0.3.4:43212->52.94.5.6:443: i/o timeout",
			"https response error StatusCode: 0, RequestID: , request send failed: read tcp 10.0.3.4:51870->52.94.5.7:443: i/o timeout",
		},
		"what is in use of a limit": {
			"default would exceed its limit of 1k: 998 in use or planned, and the smallest machine for the pod has 4",
			"default would exceed its limit of 1k: 999500m in use or planned, and the smallest machine for the pod has 4",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			var events sink
			r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.New(&hclog.LoggerOptions{Output: &log})}
			for _, reason := range []string{reasons[0], reasons[1], "", reasons[0]} {
				plan := &decide.Plan{}
				if reason == "" {
					r.Unplaced(s, plan)
					r.Kept(plan)
					continue
				}
				for i := range unplaced {
					unplaced[i].Reason = reason
				}
				plan.Unplaced = unplaced
				plan.Kept = []decide.Kept{{Node: "n1", Reason: decide.Empty, Why: reason}}
				r.Unplaced(s, plan)
				r.Kept(plan)
				r.InUse(&decide.Consolidation{Stays: []decide.StayingNode{{Node: "n1", Blocker: retire.BlockedProtection, Why: reason}}})
			}
			// Three pods, their owner, and the node for both reasons.
			if len(events) != 6 || !strings.Contains(strings.Join(events, ""), reasons[0]) {
				t.Errorf("%d events, want 6 that have the first reason: %q", len(events), events)
			}
			if lines := strings.Count(log.String(), "could not place pods"); lines != 1 {
				t.Errorf("%d lines, want 1: %s", lines, &log)
			}
		})
	}
	for _, reason := range []string{"limit of 1k", "the pod requires 4 CPU", "m5.large in eu-west-1a", "v1.2.3"} {
		if Lasting(reason) != reason {
			t.Errorf("%q becomes %q", reason, Lasting(reason))
		}
	}
}

// A pod that kube-scheduler refuses on a node that is up and has room says so, and says it once.
func TestPodsThatKubeSchedulerDoesNotPlaceSaySo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events sink
		r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
		pod := cluster.PodKey{Namespace: "default", Name: "web", UID: "1"}
		for i, c := range []struct {
			after time.Duration
			node  string
			up    bool
			want  string // the last event, once it has been sent
			sent  int
		}{
			{0, "a", false, "Nominated: fits node a", 1},
			{20 * time.Minute, "a", false, "Nominated: fits node a", 1}, // its machine takes long to come up
			{0, "a", true, "Nominated: fits node a", 1},
			{schedulerPatience - time.Second, "a", true, "Nominated: fits node a", 1},
			{time.Second, "a", true, "NotScheduled: fits node a, but kube-scheduler", 2},
			{time.Minute, "a", true, "NotScheduled: fits node a, but kube-scheduler", 2},
			{time.Minute, "b", true, "Nominated: fits node b", 3},
			{schedulerPatience, "b", true, "NotScheduled: fits node b, but kube-scheduler", 4},
		} {
			time.Sleep(c.after)
			r.Fits(pod, c.node, c.up)
			if len(events) != c.sent || !strings.Contains(events[len(events)-1], c.want) {
				t.Errorf("step %d: %d events, the last %q; want %d, %q", i, len(events), events[len(events)-1], c.sent, c.want)
			}
		}
		if r.Keep(nil); len(r.fitting) != 0 {
			t.Error("a pod that does not wait any more is remembered")
		}
	})
}

// A protection that is not understood protects nothing, and its owner is told.
func TestProtectionsThatAreNotUnderstoodAreReported(t *testing.T) {
	var events sink
	r := &Reporter{Events: event.NewRecorder(&events), Log: hclog.NewNullLogger()}
	s := &cluster.Snapshot{}
	templates := cluster.NewTemplates()
	for i, annotation := range []string{"1d", "1d", "true", "4h", "false", ""} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint(i)), Annotations: map[string]string{api.AnnotationDoNotDisrupt: annotation},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-" + annotation, UID: types.UID("rs" + annotation), Controller: ptr.To(true)}}}}
		p, _ := templates.Pod(pod)
		s.Pods = append(s.Pods, p)
	}
	r.Unplaced(s, &decide.Plan{})
	r.Unplaced(s, &decide.Plan{})
	want := `ReplicaSet web-1d: DoubtfulSpec: the annotation karpenter.sh/do-not-disrupt of pod web-0 is ignored: it has to be "true" or a duration, such as "4h"`
	if len(events) != 1 || events[0] != want {
		t.Errorf("events = %q, want %q", events, want)
	}
}
