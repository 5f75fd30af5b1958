package planreport

import (
	"fmt"
	"maps"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

const (
	// eventsPerOwner is how many pods of one owner and reason get an event of their own. A
	// small workload shows the reason wherever one looks, a large one does not flood
	// the API server.
	eventsPerOwner = 3
	// loggedCauses bounds the log lines about them in one turn.
	loggedCauses = 100
)

// cause is why pods of one owner have no place. The pods of a namespace that have no
// owner share one.
type cause struct {
	namespace string
	owner     cluster.Owner
	lasting   string // the reason without what changes by itself
}

// group is the pods of a cause.
type group struct {
	cause
	reason string
	pods   []cluster.PodKey
}

// groups collects the pods that have no place and are still there, in the order of
// the plan.
func groups(s *cluster.Snapshot, unplaced []decide.Unplaced) []group {
	if len(unplaced) == 0 {
		return nil
	}
	owners := make(map[string]cluster.Owner, len(s.Pods))
	for p := range s.EachPod() {
		owners[p.UID] = p.Owner
	}
	var out []group
	index, causes := map[cause]int{}, map[string]string{} // causes, by reason: without what changes by itself
	for _, u := range unplaced {
		owner, there := owners[u.Pod.UID]
		if !there {
			continue
		}
		if _, known := causes[u.Reason]; !known {
			causes[u.Reason] = Lasting(u.Reason)
		}
		why := cause{u.Pod.Namespace, owner, causes[u.Reason]}
		i, known := index[why]
		if !known {
			i = len(out)
			index[why] = i
			out = append(out, group{cause: why, reason: u.Reason})
		}
		out[i].pods = append(out[i].pods, u.Pod)
	}
	return out
}

// toPods returns the pods that get an event: all that have no owner which could
// have one in their place.
func (g *group) toPods() []cluster.PodKey {
	if g.owner.UID == "" {
		return g.pods
	}
	return g.pods[:min(eventsPerOwner, len(g.pods))]
}

// toOwner reports whether the owner speaks for pods that get no event.
func (g *group) toOwner() bool { return len(g.toPods()) < len(g.pods) }

// ref names the owner.
func (c *cause) ref() cluster.ObjectRef {
	return cluster.ObjectRef{APIVersion: c.owner.APIVersion, Kind: c.owner.Kind, Namespace: c.namespace, Name: c.owner.Name, UID: c.owner.UID}
}

// title names the owner in log lines.
func (c *cause) title() string {
	if c.owner.UID == "" {
		return ""
	}
	return c.owner.Kind + " " + c.namespace + "/" + c.owner.Name
}

// Unplaced says why pods have no place: in events on pods and on their owners, and in
// a log line for each owner and reason. It does so again when the API server may have
// forgotten the events.
func (r *Reporter) Unplaced(s *cluster.Snapshot, plan *decide.Plan) {
	maps.DeleteFunc(r.said, func(_ saying, at time.Time) bool { return time.Since(at) >= event.RepeatAfter })
	var news []group
	for _, g := range groups(s, plan.Waiting()) {
		for _, pod := range g.toPods() {
			r.unplaceable(pod, g.reason)
		}
		if r.say(g.ref(), "", g.lasting) {
			news = append(news, g)
		}
		if g.toOwner() && r.say(g.ref(), event.Unplaceable, g.lasting) {
			r.Events.Warning(g.ref(), event.Unplaceable,
				fmt.Sprintf("%d of its pods have no place, such as %s: %s", len(g.pods), g.pods[0].Name, g.reason))
		}
	}
	r.log(news)
	r.daemonSets(plan)
	r.misprotected(s)
}

// misprotected says to the owners of pods whose annotation is not understood that it protects nothing.
func (r *Reporter) misprotected(s *cluster.Snapshot) {
	for p := range s.EachPod() {
		if !p.Template.Misprotected {
			continue
		}
		of := event.Pod(p.PodKey)
		if p.Owner.UID != "" {
			of = (&cause{namespace: p.Namespace, owner: p.Owner}).ref()
		}
		if r.say(of, event.DoubtfulSpec, "") {
			r.Events.Warning(of, event.DoubtfulSpec,
				fmt.Sprintf("the annotation %s of pod %s is ignored: it has to be \"true\" or a duration, such as \"4h\"", api.AnnotationDoNotDisrupt, p.Name))
		}
	}
}

// daemonSets says to DaemonSets that fit on no machine of a Provisioner that they get no room there. What a plan says
// of that depends on which pods wait, so a plan that says nothing of it does not end it.
func (r *Reporter) daemonSets(plan *decide.Plan) {
	for i := range plan.LeftOut {
		of, text := plan.LeftOut[i].DaemonSet, explain.LeftOut(&plan.LeftOut[i])
		if r.say(of, event.Unplaceable, text) {
			r.Events.Warning(of, event.Unplaceable, text)
		}
	}
}

// log writes a line for each, up to a bound, and one for the others.
func (r *Reporter) log(news []group) {
	more := 0
	for i, g := range news {
		if i >= loggedCauses {
			more += len(g.pods)
			continue
		}
		r.Log.Warn("could not place pods", "owner", g.title(), "pods", len(g.pods), "pod", g.pods[0].String(), "reason", g.reason)
	}
	if more > 0 {
		r.Log.Warn("could not place more pods, for other reasons or of other owners", "pods", more)
	}
}
