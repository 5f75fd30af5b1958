package agent

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// conditionWarnings is there while a spec holds something that has no effect or is
// probably not what its author meant.
const conditionWarnings = "SpecWarnings"

// setWarnings keeps the condition for as long as there are warnings.
func setWarnings(conditions *[]metav1.Condition, found api.Findings, generation int64) {
	warnings := found.Warnings()
	if len(warnings) == 0 {
		meta.RemoveStatusCondition(conditions, conditionWarnings)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionWarnings, Status: metav1.ConditionTrue, Reason: reasonWarnings,
		Message: warnings.Summary(), ObservedGeneration: generation,
	})
}

// remarks are the warnings that events have told, by object.
type remarks map[cluster.ObjectRef]string

// tell sends an event for each object whose warnings differ from those that were
// told before, and returns what has been told now.
func (r remarks) tell(all []*view.Provisioner, events *event.Recorder) remarks {
	now := remarks{}
	remark := func(ref cluster.ObjectRef, found api.Findings) {
		text := found.Warnings().Summary()
		if text == "" || now[ref] != "" {
			return
		}
		if now[ref] = text; r[ref] != text {
			events.Warning(ref, event.DoubtfulSpec, text)
		}
	}
	for _, p := range all {
		remark(event.Provisioner(p.Raw), p.Findings)
		if p.Template != "" {
			remark(cluster.ObjectRef{Kind: api.NodeTemplateKind, Name: p.Template, UID: string(p.TemplateUID)}, p.ProfileFindings)
		}
	}
	return now
}
