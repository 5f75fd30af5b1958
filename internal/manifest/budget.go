package manifest

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// PodDisruptionBudgets converts budgets beside the pods that they may select.
func PodDisruptionBudgets(budgets []*policyv1.PodDisruptionBudget, pods []cluster.Pod) []cluster.PodDisruptionBudget {
	var out []cluster.PodDisruptionBudget
	for _, b := range budgets {
		out = append(out, disruptionBudget(b, pods))
	}
	return out
}

// disruptionBudget converts a budget. For one without a status, which no controller has
// seen, it does what the controller does. It takes the pods that the budget selects for all that are wanted.
func disruptionBudget(b *policyv1.PodDisruptionBudget, pods []cluster.Pod) cluster.PodDisruptionBudget {
	out := cluster.FromPodDisruptionBudget(b)
	if status := &b.Status; status.ObservedGeneration != 0 || status.ExpectedPods != 0 || status.DisruptionsAllowed != 0 || len(status.Conditions) > 0 {
		return out
	}
	wanted, healthy := 0, 0
	for i := range pods {
		p := &pods[i]
		if p.State == cluster.PodTerminating || !out.Selects(p.Namespace, p.Template.Labels) {
			continue
		}
		wanted++
		if p.Ready {
			healthy++
		}
	}
	least, err := 0, error(nil)
	if most := b.Spec.MaxUnavailable; most != nil {
		least, err = intstr.GetScaledValueFromIntOrPercent(most, wanted, true)
		least = max(0, wanted-least)
	} else if b.Spec.MinAvailable != nil {
		least, err = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, wanted, true)
	}
	if err != nil || b.Spec.MaxUnavailable == nil && b.Spec.MinAvailable == nil {
		return out
	}
	out.DisruptionsAllowed = int32(max(0, healthy-least))
	out.Healthy = least > 0 && healthy >= least
	out.Strict = wanted > 0 && least >= wanted
	return out
}
