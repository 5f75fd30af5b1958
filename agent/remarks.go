package agent

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// conditionWarnings is there while a spec holds something that has no effect or is
// probably not what its author meant.
const conditionWarnings = "SpecWarnings"

// texts are the node profiles by name, and what there is to say about the text of
// Provisioners and node profiles.
type texts struct {
	templates    map[string]*api.AWSNodeTemplate
	provisioners map[string]api.Findings // by name
	profiles     map[string]api.Findings // by name
	unreadable   []cluster.Reading       // Provisioners
}

func newTexts(o Observer) texts {
	out := texts{map[string]*api.AWSNodeTemplate{}, map[string]api.Findings{}, map[string]api.Findings{}, nil}
	for _, t := range o.NodeTemplates() {
		out.templates[t.Name] = t
	}
	for _, r := range o.Readings() {
		switch {
		case r.Object.Kind != api.ProvisionerKind:
			out.profiles[r.Object.Name] = r.Findings
		case len(r.Findings.Errors()) > 0:
			out.unreadable = append(out.unreadable, r)
		default:
			out.provisioners[r.Object.Name] = r.Findings
		}
	}
	return out
}

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
func (r remarks) tell(all []*provisioner, events *event.Recorder) remarks {
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
		remark(event.Provisioner(p.raw), p.findings)
		if p.template != "" {
			remark(cluster.ObjectRef{Kind: api.NodeTemplateKind, Name: p.template, UID: string(p.templateUID)}, p.profileFindings)
		}
	}
	return now
}
