// Package report says in events and log lines what a plan makes of pods and nodes,
// once for each change, and again before the API server forgets an event.
package report

import (
	"fmt"
	"maps"
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

	pods     map[string]reported // by UID: the last event about a pod
	fitting  map[string]fitting  // by UID: since when a pod has fitted a node
	unplaced map[cause]times     // why pods of an owner have no place
	kept     map[string]string   // by node: why it stays although it has a reason to go
	inUse    map[string]string   // by node: why it stays while it is in use
	warnings map[cluster.ObjectRef]string
	leftOut  map[leftOut]time.Time // when it was reported that a DaemonSet gets no room
}

type reported struct {
	text string
	at   time.Time
}

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
	if time.Since(r.fitting[pod.UID].since) < schedulerPatience {
		r.Nominated(pod, "fits node "+node)
		return
	}
	message := fmt.Sprintf("fits node %s, but kube-scheduler has not placed it there for %s: its condition PodScheduled says why", node, amount.ShortDuration(schedulerPatience))
	if r.isNew(pod, event.NotScheduled+message) {
		r.Events.Warning(event.Pod(pod), event.NotScheduled, message)
	}
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

// Kept says to the nodes that have a reason to go why they stay, once for each reason.
func (r *Reporter) Kept(plan *decide.Plan) {
	kept := make(map[string]string, len(plan.Kept))
	for _, k := range plan.Kept {
		text := (&explain.Kept{Reason: string(k.Reason), Why: k.Why}).Words()
		if r.kept[k.Node] != text {
			r.Events.Normal(event.Node(k.Node), event.Kept, text)
		}
		kept[k.Node] = text
	}
	r.kept = kept
}

// InUse sends an event to each node in use when the reason changes for which it stays. It sends none
// because pods came or went a short while ago, which passes by itself, nor for each saving that does
// not pay yet.
func (r *Reporter) InUse(c *decide.Consolidation) {
	said := map[string]string{}
	say := func(node string, blocker decide.Blocker, why string) {
		reason := why
		switch blocker {
		case decide.BlockedQuiet:
			said[node] = r.inUse[node]
			return
		case decide.BlockedUnpaid:
			reason = string(blocker)
		}
		if r.inUse[node] != reason {
			r.Events.Normal(event.Node(node), event.NotConsolidated, fmt.Sprintf("stays (%s): %s", blocker, why))
		}
		said[node] = reason
	}
	if c != nil {
		for i := range c.Steps {
			if st := &c.Steps[i]; !st.Going {
				for _, node := range st.Nodes {
					say(node, st.Blocker, st.Why)
				}
			}
		}
		for _, n := range c.Stays {
			say(n.Node, n.Blocker, n.Why)
		}
	}
	r.inUse = said
}
