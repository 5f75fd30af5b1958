package planreport

import (
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Warnings sends an event for each Provisioner and node profile whose warnings differ
// from those that were reported before.
func (r *Reporter) Warnings(all []*view.Provisioner) {
	now := map[cluster.ObjectRef]string{}
	report := func(ref cluster.ObjectRef, found finding.List) {
		text := found.Warnings().Summary()
		if text == "" || now[ref] != "" {
			return
		}
		if now[ref] = text; r.warnings[ref] != text {
			r.Events.Warning(ref, event.DoubtfulSpec, text)
		}
	}
	for _, p := range all {
		report(event.Provisioner(p.Raw), p.Findings)
		if p.Template != "" {
			report(cluster.ObjectRef{Kind: api.NodeTemplateKind, Name: p.Template, UID: string(p.TemplateUID)}, p.ProfileFindings)
		}
	}
	r.warnings = now
}
