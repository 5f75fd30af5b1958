package agent

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/planreport"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// The conditions of a Provisioner.
const (
	conditionReady = "Ready"
	// conditionPrices is there while on-demand prices are not the published ones.
	conditionPrices = "PricesEstimated"
	// conditionStock is there while instance types, spot prices, capacity reservations or what node profiles refer
	// to cannot be read.
	conditionStock = "StockOutdated"
	// conditionQuota is there while a cloud refuses machines because the account may not have
	// more of them. Only people can change that.
	conditionQuota = "QuotaExceeded"
	// conditionWarnings is there while a spec holds something that has no effect or is
	// probably not what its author meant.
	conditionWarnings = "SpecWarnings"
)

// Reasons of the conditions other than Ready.
const (
	reasonEmbeddedPrices = "EmbeddedPrices"
	reasonQuota          = conditionQuota
	reasonWarnings       = event.DoubtfulSpec
)

// reportStatus writes the status of all Provisioners and of the node profiles that
// they use. While Karpenter runs, it writes the status of its own NodePools, and scales none that is
// not ready.
func (a *Agent) reportStatus(ctx context.Context, v *view.View) {
	a.reporter.Warnings(v.Provisioners)
	type status struct {
		of    string
		write func() error
	}
	var all []status
	written := map[string]bool{}
	for _, p := range v.Provisioners {
		if p.Raw.Source != nil && p.Raw.Source.Waits != "" {
			continue
		}
		its := a.provisionerStatus(v, p)
		all = append(all, status{p.Raw.Name, func() error { return a.cluster.UpdateProvisionerStatus(ctx, p.Raw.Name, its) }})
		if p.Template != "" && !written[p.Template] && p.Reason != view.ReasonMarket {
			written[p.Template] = true
			profile := profileStatus(p, a.quotes)
			all = append(all, status{p.Raw.Name, func() error { return a.cluster.UpdateNodeTemplateStatus(ctx, p.Template, profile) }})
		}
	}
	parallel.Each(parallel.NodesAtOnce, all, func(s status) {
		if err := s.write(); err != nil && ctx.Err() == nil {
			a.log.Warn("could not write a status", "provisioner", s.of, "error", err)
		}
	})
}

// profileStatus is what became of the node profile's selectors, and whether nodes
// can be built from it.
func profileStatus(p *view.Provisioner, quotes *pace.Retries) api.AWSNodeTemplateStatus {
	status := p.Market.Status
	status.Subnets = quotedSubnets(p, quotes)
	c := metav1.Condition{Type: conditionReady, Status: metav1.ConditionTrue, Reason: view.ReasonReady, Message: "nodes can be built from it"}
	switch {
	case p.Reason == view.ReasonValidation:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, view.ReasonValidation, p.Blocked
	case p.Market.Blocked != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, p.Market.BlockedReason, p.Market.Blocked
	}
	status.Conditions = append(slices.Clone(status.Conditions), c)
	setWarnings(&status.Conditions, p.ProfileFindings, 0)
	return status
}

// quotedSubnets returns the subnets of a node profile with the free addresses that its status has. Once quotes are due, it
// returns them as they are. Pods and machines take and give back addresses all the time, and writing their number changes
// the object and triggers another turn. If another subnet is there, or one has become full or has room again, that is
// written at once.
func quotedSubnets(p *view.Provisioner, quotes *pace.Retries) []api.SubnetStatus {
	was, now := p.TemplateSubnets, p.Market.Status.Subnets
	alike := slices.EqualFunc(was, now, func(a, b api.SubnetStatus) bool {
		return a.ID == b.ID && a.Zone == b.Zone && (a.FreeAddresses == 0) == (b.FreeAddresses == 0)
	})
	key := p.Template + " subnets"
	switch {
	case !alike || slices.Equal(was, now):
		return now
	case !quotes.Due(key):
		return was
	}
	quotes.Failed(key)
	return now
}

func (a *Agent) provisionerStatus(v *view.View, p *view.Provisioner) api.ProvisionerStatus {
	nodes := v.NodesOf(p.Raw.Name)
	used := amount.List{}
	for _, n := range nodes {
		used = used.Plus(n.Capacity)
	}
	status := api.ProvisionerStatus{
		Resources: used.ResourceList(),
		// Those of Karpenter may have no reason, which the CRD demands.
		Conditions:         slices.DeleteFunc(slices.Clone(p.Raw.Status.Conditions), func(c metav1.Condition) bool { return c.Reason == "" }),
		LastScaleTime:      p.Raw.Status.LastScaleTime,
		ObservedGeneration: p.Raw.Generation,
		Nodes:              int64(len(nodes)),
	}
	if t, ok := a.inventory.LastScale(p.Raw.Name); ok {
		status.LastScaleTime = ptr.To(metav1.NewTime(t).Rfc3339Copy())
	}
	ready := p.Ready
	if slices.Contains([]string{view.ReasonMarket, view.ReasonInstances, view.ReasonNodeless}, ready.Reason) {
		ready.Message = firstMessage(p, status.Conditions, ready, a.quotes)
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	setWarnings(&status.Conditions, p.Findings, p.Raw.Generation)
	setMarketConditions(p, &status.Conditions, a.quotes)
	setQuotaCondition(p, a.buyer.Quotas(p.Raw.Name, v.Now), &status.Conditions)
	return status
}

// setMarketConditions sets the conditions that say what could not be read of the market, or not
// lately.
func setMarketConditions(p *view.Provisioner, conditions *[]metav1.Condition, quotes *pace.Retries) {
	prices := p.Market.Estimate
	if prices != "" {
		prices = "on-demand prices are estimates from the table that this release was built with: " + prices
	}
	setFailure(p, conditions, conditionPrices, obstacle{reasonEmbeddedPrices, prices}, quotes)
	setFailure(p, conditions, conditionStock, obstacle{p.Market.FaultReason, p.Market.Fault}, quotes)
}

// setFailure keeps a condition for as long as there is a failure.
func setFailure(p *view.Provisioner, conditions *[]metav1.Condition, kind string, failure obstacle, quotes *pace.Retries) {
	c := metav1.Condition{Type: kind, Reason: failure.reason, ObservedGeneration: p.Raw.Generation, Message: failure.message}
	c.Message = firstMessage(p, *conditions, c, quotes)
	setWhile(conditions, c)
}

// quotePause is how long a condition keeps its message at least, if its reason stays, and a subnet its free addresses.
const quotePause = 5 * time.Minute

// firstMessage is what was first written of a failure, for as long as the failure stays the same. Each error of AWS has
// another request id, which does not count: writing it would change the object and trigger another turn. Another failure
// is written once quotes are due, because errors may also differ in ways that planreport.Lasting does not know.
func firstMessage(p *view.Provisioner, conditions []metav1.Condition, c metav1.Condition, quotes *pace.Retries) string {
	was := meta.FindStatusCondition(conditions, c.Type)
	if was == nil || was.Reason != c.Reason || c.Message == "" {
		return c.Message
	}
	key := p.Raw.Name + " " + c.Type
	if planreport.Lasting(was.Message) == planreport.Lasting(c.Message) || !quotes.Due(key) {
		return was.Message
	}
	quotes.Failed(key)
	return c.Message
}

// setWhile keeps a condition true for as long as it has a message.
func setWhile(conditions *[]metav1.Condition, c metav1.Condition) {
	if c.Message == "" {
		meta.RemoveStatusCondition(conditions, c.Type)
		return
	}
	c.Status = metav1.ConditionTrue
	meta.SetStatusCondition(conditions, c)
}

// setQuotaCondition keeps the condition for as long as quotas refuse machines.
func setQuotaCondition(p *view.Provisioner, reached []string, conditions *[]metav1.Condition) {
	message := strings.Join(reached, "; ")
	if message != "" {
		message += "; ask AWS for a higher quota, or allow the other capacity type"
	}
	setWhile(conditions, metav1.Condition{Type: conditionQuota, Reason: reasonQuota, ObservedGeneration: p.Raw.Generation, Message: message})
}

// setWarnings keeps the condition for as long as there are warnings.
func setWarnings(conditions *[]metav1.Condition, found finding.List, generation int64) {
	setWhile(conditions, metav1.Condition{
		Type: conditionWarnings, Reason: reasonWarnings, Message: found.Warnings().Summary(), ObservedGeneration: generation,
	})
}
