package peer

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	results "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/scheduling"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Pool is a Provisioner as a NodePool.
func Pool(p *api.Provisioner) *v1.NodePool {
	template := v1.NodeClaimTemplateSpec{
		NodeClassRef: &v1.NodeClassReference{Group: "bench", Kind: "NodeClass", Name: "default"},
		Taints:       p.Spec.Taints,
	}
	for _, r := range p.Spec.Requirements {
		template.Requirements = append(template.Requirements, v1.NodeSelectorRequirementWithMinValues{
			Key: r.Key, Operator: corev1.NodeSelectorOperator(r.Operator), Values: r.Values,
		})
	}
	out := &v1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: types.UID("pool-" + p.Name)},
		Spec: v1.NodePoolSpec{Weight: p.Spec.Weight, Template: v1.NodeClaimTemplate{
			ObjectMeta: v1.ObjectMeta{Labels: p.Spec.Labels}, Spec: template,
		}},
	}
	if p.Spec.Limits != nil {
		out.Spec.Limits = v1.Limits(p.Spec.Limits.Resources)
	}
	return out
}

// InstanceTypes are the types of the catalogue, in the same order.
func InstanceTypes(list []offer.InstanceType) []*cloudprovider.InstanceType {
	keys := map[string]bool{}
	for i := range list {
		for key := range list[i].Labels {
			keys[key] = true
		}
	}
	// Pods may ask for keys that the types define without the pool naming them.
	v1.WellKnownLabels.Insert(slices.Collect(maps.Keys(keys))...)
	var out []*cloudprovider.InstanceType
	for i := range list {
		out = append(out, instanceType(&list[i], keys))
	}
	return out
}

func instanceType(t *offer.InstanceType, keys map[string]bool) *cloudprovider.InstanceType {
	out := &cloudprovider.InstanceType{
		Name:     t.Name,
		Capacity: t.Capacity.ResourceList(),
		Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: t.Overhead.ResourceList()},
	}
	zones, capacityTypes := map[string]bool{}, map[string]bool{}
	for _, o := range t.Offerings {
		zones[o.Zone], capacityTypes[o.CapacityType] = true, true
		out.Offerings = append(out.Offerings, &cloudprovider.Offering{
			Available: o.Unavailable == "", Price: o.Price.Dollars(),
			Requirements: scheduling.NewLabelRequirements(map[string]string{
				v1.CapacityTypeLabelKey: o.CapacityType, corev1.LabelTopologyZone: o.Zone,
			}),
		})
	}
	out.Requirements = scheduling.NewRequirements(
		scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, slices.Sorted(maps.Keys(zones))...),
		scheduling.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, slices.Sorted(maps.Keys(capacityTypes))...),
	)
	for key := range keys {
		if values := t.Labels[key]; len(values) > 0 {
			out.Requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpIn, values...))
		} else {
			out.Requirements.Add(scheduling.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	return out
}

// Plan restates the results for the checker. The peer leaves the type open until
// it launches; the cheapest offering that its claim allows is taken.
func (t *Task) Plan(found *results.Results) (check.Plan, error) {
	out := check.Plan{}
	for i, claim := range found.NewNodeClaims {
		m := check.Machine{Candidate: cheapest(claim), Provisioner: claim.NodePoolName}
		if m.InstanceType == "" {
			return check.Plan{}, fmt.Errorf("price claim %d: no offering is compatible", i)
		}
		for _, p := range claim.Pods {
			m.Pods = append(m.Pods, t.index[p.UID])
		}
		slices.Sort(m.Pods)
		out.Machines = append(out.Machines, m)
	}
	return out, nil
}

func cheapest(claim *results.NodeClaim) offer.Candidate {
	var best offer.Candidate
	for _, it := range claim.InstanceTypeOptions {
		for _, o := range it.Offerings.Available().Compatible(claim.Requirements) {
			c := offer.Candidate{
				InstanceType: it.Name,
				Zone:         o.Requirements.Get(corev1.LabelTopologyZone).Any(),
				CapacityType: o.Requirements.Get(v1.CapacityTypeLabelKey).Any(),
				Price:        offer.Price(math.Round(o.Price * 1e6)),
			}
			if best.InstanceType == "" || cmp.Or(cmp.Compare(c.Price, best.Price), cmp.Compare(c.InstanceType, best.InstanceType), cmp.Compare(c.Zone, best.Zone)) < 0 {
				best = c
			}
		}
	}
	return best
}
