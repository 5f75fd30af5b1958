package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// tell sends an event about a waiting pod, unless it was the last one about it and
// the API server still has it.
func (a *Agent) tell(pod cluster.PodKey, reason, message string) {
	last := a.history.told[pod.UID]
	if last.text == reason+message && time.Since(last.at) < event.RepeatAfter {
		return
	}
	a.history.told[pod.UID] = said{reason + message, time.Now()}
	if reason == event.Unplaceable {
		a.events.Warning(event.Pod(pod), reason, message)
		return
	}
	a.events.Normal(event.Pod(pod), reason, message)
}

// explainKept tells the nodes that have a reason to go why they stay, once for
// each reason.
func (a *Agent) explainKept(plan *decide.Plan) {
	kept := make(map[string]string, len(plan.Kept))
	for _, k := range plan.Kept {
		text := fmt.Sprintf("%s, but stays: %s", k.Reason, k.Why)
		if a.history.kept[k.Node] != text {
			a.events.Normal(event.Node(k.Node), event.Kept, text)
		}
		kept[k.Node] = text
	}
	a.history.kept = kept
}

// waiting returns the pods without a place that do not run anywhere.
func waiting(plan *decide.Plan) []decide.Unplaced {
	return slices.DeleteFunc(slices.Clone(plan.Unplaced), func(u decide.Unplaced) bool { return u.From != "" })
}
