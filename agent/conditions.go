package agent

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// The conditions of a Provisioner.
const (
	conditionReady = "Ready"
	// conditionConsolidation says honestly that a setting has no effect yet.
	conditionConsolidation = "ConsolidationSupported"
	// conditionPrices is there while on-demand prices are not the published ones.
	conditionPrices = "PricesEstimated"
)

// The reasons of the others.
const (
	reasonNotImplemented = "NotImplemented"
	reasonEmbeddedPrices = "EmbeddedPrices"
	reasonWarnings       = event.DoubtfulSpec
)

// reportStatus writes the status of all Provisioners and of the node profiles that
// they use.
func (a *Agent) reportStatus(ctx context.Context, v *view) {
	a.history.remarks = a.history.remarks.tell(v.provisioners, a.events)
	told := map[string]bool{}
	for _, p := range v.provisioners {
		call, cancel := context.WithTimeout(ctx, clusterTimeout)
		err := a.cluster.UpdateProvisionerStatus(call, p.raw.Name, a.provisionerStatus(v, p))
		if err == nil && p.template != "" && !told[p.template] && p.reason != reasonMarket {
			told[p.template] = true
			err = a.cluster.UpdateNodeTemplateStatus(call, p.template, p.profileStatus())
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			a.log.Warn("left a status unwritten", "provisioner", p.raw.Name, "error", err)
		}
	}
}

// profileStatus is what became of the node profile's selectors, and whether nodes
// can be built from it.
func (p *provisioner) profileStatus() api.AWSNodeTemplateStatus {
	status := p.market.Status
	c := metav1.Condition{Type: conditionReady, Status: metav1.ConditionTrue, Reason: reasonReady, Message: "nodes can be built from it"}
	switch {
	case p.reason == reasonValidation:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonValidation, p.blocked
	case p.market.Blocked != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.market.BlockedReason, p.market.Blocked
	}
	status.Conditions = append(slices.Clone(status.Conditions), c)
	setWarnings(&status.Conditions, p.profileFindings, 0)
	return status
}

func (a *Agent) provisionerStatus(v *view, p *provisioner) api.ProvisionerStatus {
	nodes := v.nodesOf(p.raw.Name)
	used := amount.List{}
	for _, n := range nodes {
		used = used.Plus(n.Capacity)
	}
	status := api.ProvisionerStatus{
		Resources:          used.ResourceList(),
		Conditions:         slices.Clone(p.raw.Status.Conditions),
		LastScaleTime:      p.raw.Status.LastScaleTime,
		ObservedGeneration: p.raw.Generation,
		Nodes:              int64(len(nodes)),
	}
	if t, ok := a.ledger.lastScale(p.raw.Name); ok {
		status.LastScaleTime = ptr.To(metav1.NewTime(t).Rfc3339Copy())
	}
	ready := p.ready
	if was := meta.FindStatusCondition(status.Conditions, conditionReady); was != nil && was.Reason == ready.Reason && (was.Reason == reasonMarket || was.Reason == reasonInstances) {
		ready.Message = was.Message // each failure has a request id of its own: writing that would be a change, and the next turn
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	setWarnings(&status.Conditions, p.findings, p.raw.Generation)
	setPricesCondition(p, &status.Conditions)
	a.history.setQuotaCondition(p, &status.Conditions, v.now)
	if c := p.raw.Spec.Consolidation; c != nil && ptr.Deref(c.Enabled, false) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: conditionConsolidation, Status: metav1.ConditionFalse, Reason: reasonNotImplemented,
			Message:            api.UsedNotConsolidated,
			ObservedGeneration: p.raw.Generation,
		})
	} else {
		meta.RemoveStatusCondition(&status.Conditions, conditionConsolidation)
	}
	return status
}

// setPricesCondition says where choices are made by prices that were not published
// for the region, or not lately.
func setPricesCondition(p *provisioner, conditions *[]metav1.Condition) {
	if p.market.Estimate == "" {
		meta.RemoveStatusCondition(conditions, conditionPrices)
		return
	}
	if meta.IsStatusConditionTrue(*conditions, conditionPrices) {
		return // each failure has a request id of its own: writing that would be a change, and the next turn
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionPrices, Status: metav1.ConditionTrue, Reason: reasonEmbeddedPrices, ObservedGeneration: p.raw.Generation,
		Message: "on-demand prices are those that this release was built with: " + p.market.Estimate,
	})
}
