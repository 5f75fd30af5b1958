// Package planreport says in events and log lines what a plan decides about pods and nodes: when it
// changes, and again before the API server forgets an event.
package planreport

import (
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Reporter remembers what it has reported. Only the planning loop uses it. Losing it at
// a restart costs repeated events. Both fields are to be set.
type Reporter struct {
	Events *event.Recorder
	Log    hclog.Logger

	pods     map[string]reported  // by UID: the last event about a pod
	fitting  map[string]fitting   // by UID: since when a pod has fitted a node
	said     map[saying]time.Time // what was said of nodes and owners, and when
	warnings map[cluster.ObjectRef]string
}

type reported struct {
	text string // without what changes by itself
	at   time.Time
}

// saying is what an event or a log line says of an object. The reason is that of the event; empty for a log line.
type saying struct {
	of           cluster.ObjectRef
	reason, text string // the text is without what changes by itself
}

// changing are the parts of a reason that change although it stays the same: times of day, addresses, what is in use
// of a limit, and ids that AWS generates for each response.
var changing = regexp.MustCompile(`\d\d:\d\d:\d\d|\d+(\.\d+){3}\S*|\S+ in use or planned|RequestID: [^\s,]*|Encoded authorization failure message: \S+`)

// Lasting returns a reason without the parts that change although it stays the same.
func Lasting(reason string) string { return changing.ReplaceAllLiteralString(reason, "") }

// namedPod is the pod that a reason names.
var namedPod = regexp.MustCompile(`\bpod \S+/\S+`)

// anyPod returns why a node stays without the pod for which it does. If pods come and go, that is another one all the
// time.
func anyPod(why string) string { return namedPod.ReplaceAllLiteralString(why, "pod") }

type fitting struct {
	node  string
	since time.Time
}

// schedulerPatience is how long kube-scheduler may take to place a pod on a node that has room for it. It
// tries each pod that it has found no node for again after five minutes, or earlier if something has changed.
const schedulerPatience = 10 * time.Minute

// Nominated says where a pod will run.
func (r *Reporter) Nominated(pod cluster.PodKey, message string) {
	if r.isNew(pod, event.Nominated+message) {
		r.Events.Normal(event.Pod(pod), event.Nominated, message)
	}
}

// Fits says which node a pod fits. If kube-scheduler has not placed the pod there for long although the node
// is up, it says that instead: the two disagree, and the pod waits until somebody has found out why.
func (r *Reporter) Fits(pod cluster.PodKey, node string, up bool) {
	if f := r.fitting[pod.UID]; !up || f.node != node {
		if r.fitting == nil {
			r.fitting = map[string]fitting{}
		}
		r.fitting[pod.UID] = fitting{node, time.Now()}
	}
	message := r.Unscheduled(pod.UID, node)
	if message == "" {
		r.Nominated(pod, "fits node "+node)
	} else if r.isNew(pod, event.NotScheduled+message) {
		r.Events.Warning(event.Pod(pod), event.NotScheduled, message)
	}
}

// Unscheduled says of a pod which fits a node that kube-scheduler has not placed it there for too long; empty otherwise.
func (r *Reporter) Unscheduled(uid, node string) string {
	if f, ok := r.fitting[uid]; !ok || f.node != node || time.Since(f.since) < schedulerPatience {
		return ""
	}
	return fmt.Sprintf("fits node %s, but kube-scheduler has not placed it there for %s: its condition PodScheduled says why", node, amount.ShortDuration(schedulerPatience))
}

// unplaceable says why a pod has no place.
func (r *Reporter) unplaceable(pod cluster.PodKey, message string) {
	if r.isNew(pod, event.Unplaceable+message) {
		r.Events.Warning(event.Pod(pod), event.Unplaceable, message)
	}
}

// isNew reports whether a text was not the last one about a waiting pod, or the API
// server may have forgotten it.
func (r *Reporter) isNew(pod cluster.PodKey, text string) bool {
	text = Lasting(text)
	last := r.pods[pod.UID]
	if last.text == text && time.Since(last.at) < event.RepeatAfter {
		return false
	}
	if r.pods == nil {
		r.pods = map[string]reported{}
	}
	r.pods[pod.UID] = reported{text, time.Now()}
	return true
}

// Keep drops the pods that do not wait any more. Some have been bound in the turn that saw them first.
func (r *Reporter) Keep(waiting map[string]bool) {
	maps.DeleteFunc(r.pods, func(uid string, _ reported) bool { return !waiting[uid] })
	maps.DeleteFunc(r.fitting, func(uid string, _ fitting) bool { return !waiting[uid] })
}

// say reports whether something is to be said of an object, and notes that it is said: it was not said lately, or the API
// server may have forgotten it. Reasons come and go, so that one that comes again soon is not new. Why nodes in use stay
// is said once for as long as it lasts: it is true of most nodes most of the time.
func (r *Reporter) say(of cluster.ObjectRef, reason, text string) bool {
	s := saying{of, reason, Lasting(text)}
	at, known := r.said[s]
	known = known && time.Since(at) < event.RepeatAfter
	if r.said == nil {
		r.said = map[saying]time.Time{}
	}
	if !known || reason == event.NotConsolidated {
		r.said[s] = time.Now()
	}
	return !known
}

// Kept says to the nodes that have a reason to go why they stay.
func (r *Reporter) Kept(plan *decide.Plan) {
	for _, k := range plan.Kept {
		node, text := event.Node(k.Node), (&explain.Kept{Reason: string(k.Reason), Why: k.Why}).Words()
		if r.say(node, event.Kept, anyPod(text)) {
			r.Events.Normal(node, event.Kept, text)
		}
	}
}

// InUse says to each node in use why it stays. It does not say so if pods came or went a short while ago, which passes by
// itself, nor for each saving that does not pay yet, nor each time that prices of spot machines change.
func (r *Reporter) InUse(c *decide.Consolidation) {
	if c == nil {
		return
	}
	stays := func(name string, blocker decide.Blocker, why string) {
		node, reason := event.Node(name), anyPod(why)
		switch blocker {
		case decide.BlockedQuiet:
			return
		case decide.BlockedSpot, decide.BlockedUnpaid:
			reason = string(blocker)
		}
		if r.say(node, event.NotConsolidated, reason) {
			r.Events.Normal(node, event.NotConsolidated, fmt.Sprintf("stays (%s): %s", blocker, why))
		}
	}
	for i := range c.Steps {
		if st := &c.Steps[i]; !st.Going {
			for _, node := range st.Nodes {
				stays(node, st.Blocker, st.Why)
			}
		}
	}
	for _, n := range c.Stays {
		stays(n.Node, n.Blocker, n.Why)
	}
}
