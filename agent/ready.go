package agent

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
)

// obstacle is why a purchase would come to nothing now, with the reason of the condition
// that says so. The zero value is none.
type obstacle struct{ reason, message string }

func newObstacle(reason, message string) obstacle { return obstacle{reason, message} }

// setReady sets the condition Ready of all Provisioners to what a purchase would meet now.
// The argument is what stands in the way of all of them.
func setReady(v *view.View, common obstacle) {
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
			o = obstacleOf(p, view.CapacityOf(v.Snapshot, p.Raw.Name))
		}
		if o != (obstacle{}) {
			p.Ready.Status, p.Ready.Reason, p.Ready.Message = metav1.ConditionFalse, o.reason, o.message
		}
	}
}

// obstacleOf says why nothing is left of the market once the Provisioner's requirements,
// what is unavailable and its limits are taken off, or why its last launch broke.
func obstacleOf(p *view.Provisioner, used amount.List) obstacle {
	if p.Failure != "" {
		return obstacle{view.ReasonLaunch, p.Failure + "; being tried again"}
	}
	chosen := plancheck.Select(p.Market.Types, claims(p))
	if len(chosen.Types) == 0 {
		return obstacle{view.ReasonNoTypes, chosen.Nothing()}
	}
	var available []offer.InstanceType
	for _, t := range chosen.Types {
		if slices.ContainsFunc(t.Offerings, func(o offer.Offering) bool { return o.Unavailable == "" }) {
			available = append(available, t)
		}
	}
	if len(available) == 0 {
		return obstacle{view.ReasonUnavailable, allUnavailable(chosen.Types)}
	}
	if full := limitReached(p, used, available); full != "" {
		return obstacle{view.ReasonLimitReached, full}
	}
	return obstacle{}
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

// limitReached says why its limits leave no room for a node of any of the types; empty
// where they do. A limit on what a type does not have does not bind it.
func limitReached(p *view.Provisioner, used amount.List, types []offer.InstanceType) string {
	if p.Spec.Spec.Limits == nil {
		return ""
	}
	limits := amount.FromResourceList(p.Spec.Spec.Limits.Resources)
	for i := range types {
		if exceeds(&types[i], used, limits) == "" {
			return ""
		}
	}
	least := slices.MinFunc(types, func(a, b offer.InstanceType) int {
		return cmp.Or(cmp.Compare(a.Capacity[amount.CPU], b.Capacity[amount.CPU]), cmp.Compare(a.Name, b.Name))
	})
	name := exceeds(&least, used, limits)
	if name == amount.Nodes {
		return fmt.Sprintf("it has %d nodes, and its limit is %d", used[name], limits[name])
	}
	has, may, more := amount.Text(name, used[name]), amount.Text(name, limits[name]), amount.Text(name, least.Capacity.OfNode()[name])
	return fmt.Sprintf("its nodes use %s of its limit of %s %s; the smallest type allowed, %s, needs %s more", has, may, name, least.Name, more)
}

// exceeds names a resource of which a node of the type would be too much; empty for none.
func exceeds(t *offer.InstanceType, used, limits amount.List) string {
	for _, name := range limits.Names() {
		if more := t.Capacity.OfNode()[name]; more > 0 && used[name]+more > limits[name] {
			return name
		}
	}
	return ""
}
