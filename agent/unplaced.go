package agent

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

const (
	// toldPods is how many pods of one owner and reason get an event of their own. A
	// small workload shows the reason wherever one looks, a large one does not flood
	// the API server.
	toldPods = 3
	// loggedPlights bounds the log lines about them in one turn.
	loggedPlights = 100
)

// plight is why pods of one owner have no place. The pods of a namespace that have no
// owner share one.
type plight struct {
	namespace string
	owner     cluster.Owner
	reason    string
}

// telling is when a plight was told.
type telling struct {
	logged time.Time
	event  time.Time // on the owner; zero while there is none
}

// sufferers are the pods of a plight.
type sufferers struct {
	plight
	pods []cluster.PodKey
}

// plights groups the pods that have no place and are still there, in the order of
// the plan.
func plights(s *cluster.Snapshot, unplaced []decide.Unplaced) []sufferers {
	if len(unplaced) == 0 {
		return nil
	}
	owners := make(map[string]cluster.Owner, len(s.Pods))
	for i := range s.Pods {
		owners[s.Pods[i].UID] = s.Pods[i].Owner
	}
	var out []sufferers
	index := map[plight]int{}
	for _, u := range unplaced {
		owner, there := owners[u.Pod.UID]
		if !there {
			continue
		}
		why := plight{u.Pod.Namespace, owner, u.Reason}
		i, known := index[why]
		if !known {
			i = len(out)
			index[why] = i
			out = append(out, sufferers{plight: why})
		}
		out[i].pods = append(out[i].pods, u.Pod)
	}
	return out
}

// toPods returns the pods that get an event: all that have no owner which could
// have one in their place.
func (s *sufferers) toPods() []cluster.PodKey {
	if s.owner.UID == "" {
		return s.pods
	}
	return s.pods[:min(toldPods, len(s.pods))]
}

// toOwner reports whether the owner speaks for pods that get no event.
func (s *sufferers) toOwner() bool { return len(s.toPods()) < len(s.pods) }

// ref names the owner.
func (p *plight) ref() cluster.ObjectRef {
	return cluster.ObjectRef{APIVersion: p.owner.APIVersion, Kind: p.owner.Kind, Namespace: p.namespace, Name: p.owner.Name, UID: p.owner.UID}
}

// title names the owner in log lines.
func (p *plight) title() string {
	if p.owner.UID == "" {
		return ""
	}
	return p.owner.Kind + " " + p.namespace + "/" + p.owner.Name
}

// explain tells why pods have no place: in events on pods and on their owners, and in
// a log line for each owner and reason. It does so again when the API server may have
// forgotten the events.
func (a *Agent) explain(s *cluster.Snapshot, plan *decide.Plan) {
	now := time.Now()
	told := map[plight]telling{}
	var news []sufferers
	for _, group := range plights(s, waiting(plan)) {
		for _, pod := range group.toPods() {
			a.tell(pod, event.Unplaceable, group.reason)
		}
		last := a.history.plights[group.plight]
		if now.Sub(last.logged) >= event.RepeatAfter {
			last.logged = now
			news = append(news, group)
		}
		if group.toOwner() && now.Sub(last.event) >= event.RepeatAfter {
			last.event = now
			a.events.Warning(group.ref(), event.Unplaceable,
				fmt.Sprintf("%d of its pods have no place, such as %s: %s", len(group.pods), group.pods[0].Name, group.reason))
		}
		told[group.plight] = last
	}
	a.history.plights = told
	a.logPlights(news)
}

// logPlights writes a line for each, up to a bound, and one for the rest.
func (a *Agent) logPlights(news []sufferers) {
	rest := 0
	for i, group := range news {
		if i >= loggedPlights {
			rest += len(group.pods)
			continue
		}
		a.log.Warn("left pods without a place", "owner", group.title(), "pods", len(group.pods), "pod", group.pods[0].String(), "reason", group.reason)
	}
	if rest > 0 {
		a.log.Warn("left more pods without a place, for other reasons or of other owners", "pods", rest)
	}
}
