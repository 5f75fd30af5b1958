package agent

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// obstacle is why a purchase would fail now, with the reason of the condition that says so. The
// zero value means none.
type obstacle struct{ reason, message string }

func newObstacle(reason, message string) obstacle { return obstacle{reason, message} }

// setReady sets the condition Ready of all Provisioners to what a purchase would meet now.
// The argument is what stands in the way of all of them.
func (h *history) setReady(v *view.View, common obstacle) {
	used, buyable := view.Capacities(v.Snapshot), map[string]string{}
	for _, p := range v.Provisioners {
		p.Ready = metav1.Condition{
			Type: conditionReady, Status: metav1.ConditionTrue, Reason: view.ReasonReady, Message: "nodes can be bought",
			ObservedGeneration: p.Raw.Generation,
		}
		o := obstacle{p.Reason, p.Blocked}
		if o == (obstacle{}) {
			o = common
		}
		if o == (obstacle{}) {
			o, buyable[p.Raw.Name] = obstacleOf(p, used[p.Raw.Name], h.buyable[p.Raw.Name])
		}
		if o != (obstacle{}) {
			p.Ready.Status, p.Ready.Reason, p.Ready.Message = metav1.ConditionFalse, o.reason, o.message
		}
	}
	h.buyable = buyable
}

// obstacleOf says why nothing is left of the market once the Provisioner's requirements,
// what is unavailable and its limits are taken off, or why its last launch broke. Otherwise it names a type that is left.
// It looks at the last such type first: selecting from all types of EC2 takes 2 ms for each Provisioner.
func obstacleOf(p *view.Provisioner, used amount.List, last string) (o obstacle, buyable string) {
	if p.Failure != "" {
		return obstacle{view.ReasonLaunch, p.Failure + "; trying again"}, ""
	}
	own, limits := claims(p), p.Limits()
	fits := func(t offer.InstanceType) bool { return canBeBought(t) && view.Exceeds(&t, used, limits) == "" }
	if t := p.InstanceType(last); t != nil && slices.ContainsFunc(plancheck.Select([]offer.InstanceType{*t}, own).Types, fits) {
		return obstacle{}, last
	}
	chosen := plancheck.Select(p.Market.Types, own)
	if len(chosen.Types) == 0 {
		return obstacle{view.ReasonNoTypes, chosen.Nothing()}, ""
	}
	if i := slices.IndexFunc(chosen.Types, fits); i >= 0 {
		return obstacle{}, chosen.Types[i].Name
	}
	available := slices.DeleteFunc(slices.Clone(chosen.Types), func(t offer.InstanceType) bool { return !canBeBought(t) })
	if len(available) == 0 {
		return obstacle{view.ReasonUnavailable, allUnavailable(chosen.Types)}, ""
	}
	return obstacle{view.ReasonLimitReached, limitReached(available, used, limits)}, ""
}

func canBeBought(t offer.InstanceType) bool {
	return slices.ContainsFunc(t.Offerings, func(o offer.Offering) bool { return o.Unavailable == "" })
}

// claims are what the Provisioner says about its machines and leaves to no pod.
func claims(p *view.Provisioner) []plancheck.Claim {
	overridden := func(c plancheck.Claim) bool { return p.Spec.LeavesToPods(api.NormalizeLabel(c.Key)) }
	return slices.DeleteFunc(plancheck.Claims(p.Raw), overridden)
}

// allUnavailable says why the first of the offerings cannot be bought.
func allUnavailable(types []offer.InstanceType) string {
	n := 0
	for i := range types {
		n += len(types[i].Offerings)
	}
	for i := range types {
		for _, o := range types[i].Offerings {
			return fmt.Sprintf("none of the %d offerings that meet its requirements can be bought now; %s in %s (%s): %s",
				n, types[i].Name, o.Zone, o.CapacityType, o.Unavailable)
		}
	}
	return "none of the instance types that meet its requirements is offered"
}

// limitReached says why limits leave no room for a node of any of the types.
func limitReached(types []offer.InstanceType, used, limits amount.List) string {
	least := slices.MinFunc(types, func(a, b offer.InstanceType) int {
		return cmp.Or(cmp.Compare(a.Capacity[amount.CPU], b.Capacity[amount.CPU]), cmp.Compare(a.Name, b.Name))
	})
	name := view.Exceeds(&least, used, limits)
	if name == amount.Nodes {
		return fmt.Sprintf("it has %s, and its limit is %d", explain.Plural(int(used[name]), "node"), limits[name])
	}
	has, may, more := amount.Text(name, used[name]), amount.Text(name, limits[name]), amount.Text(name, least.Capacity.OfNode()[name])
	return fmt.Sprintf("its nodes use %s of its limit of %s %s; the smallest type allowed, %s, needs %s more", has, may, name, least.Name, more)
}
