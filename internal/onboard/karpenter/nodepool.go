package karpenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// defaultExpiry is the lifetime of nodes where a NodePool does not say: 720 hours
// (https://karpenter.sh/docs/concepts/nodepools/).
const defaultExpiry = "720h"

// The consolidation policy under which only empty nodes are removed.
const whenEmpty = "WhenEmpty"

// labelNodePool is the label of a NodePool's nodes, which only it can have.
const labelNodePool = "karpenter.sh/nodepool"

// pool converts the spec of a NodePool into that of a Provisioner.
func (c *converter) pool(spec *fields) map[string]any {
	out := map[string]any{}
	template := spec.inner("template")
	metadata := template.inner("metadata")
	nodes := template.inner("spec")
	if foreignClass(nodes.left) != "" {
		translateAutoMode(metadata, nodes)
	}
	put(out, "labels", metadata.take("labels"))
	put(out, "annotations", metadata.take("annotations"))
	metadata.done()
	put(out, "taints", nodes.take("taints"))
	put(out, "startupTaints", nodes.take("startupTaints"))
	put(out, "requirements", c.undefaulted(c.requirements(nodes), out["labels"]))
	put(out, "kubeletConfiguration", kubeletOfBeta(nodes))
	maps.Copy(nodes.paths, map[string]string{
		"spec.labels": "spec.template.metadata.labels", "spec.annotations": "spec.template.metadata.annotations",
		"spec.taints": "spec.template.spec.taints", "spec.startupTaints": "spec.template.spec.startupTaints",
		"spec.kubeletConfiguration":   "spec.template.spec.kubelet",
		"spec.ttlSecondsUntilExpired": "spec.template.spec.expireAfter", "spec.ttlSecondsAfterEmpty": "spec.disruption.consolidateAfter",
		"spec.consolidation": "spec.disruption.consolidationPolicy", "spec.disruption.terminationGracePeriod": "spec.template.spec.terminationGracePeriod",
		"spec.providerRef": "spec.template.spec.nodeClassRef", "spec.limits.resources": "spec.limits",
	})
	c.classOf(nodes, out)

	disruption := spec.inner("disruption")
	expiry := firstText(nodes.text("expireAfter"), disruption.text("expireAfter"), defaultExpiry)
	if ttl, ok, err := seconds(expiry); err != nil {
		nodes.lose("expireAfter", fmt.Sprintf("%q is no duration", expiry))
	} else if ok {
		out["ttlSecondsUntilExpired"] = ttl
	}
	ours := disruptionOf(disruption, out)
	put(ours, "terminationGracePeriod", nodes.take("terminationGracePeriod"))
	put(out, "disruption", ours)
	nodes.done()
	template.done()

	if limits, ok := spec.take("limits").(map[string]any); ok && len(limits) > 0 {
		out["limits"] = map[string]any{"resources": limits}
	}
	put(out, "weight", spec.take("weight"))
	spec.refuse("replicas", "a fixed number of nodes is not supported: give placeholder pods that many replicas")
	return out
}

// classOf converts the reference to an EC2NodeClass, whose kubelet settings become the
// pool's. A class of another kind is lost.
func (c *converter) classOf(nodes *fields, out map[string]any) {
	if class := foreignClass(nodes.left); class != "" {
		nodes.take("nodeClassRef")
		nodes.lose("nodeClassRef", class+" is not converted: make a node profile with the subnets, security groups and the role that its nodes have")
		return
	}
	class := nodes.inner("nodeClassRef")
	if name := class.text("name"); name != "" {
		out["providerRef"] = map[string]any{"name": name}
		if settings := c.kubelet[name]; out["kubeletConfiguration"] == nil {
			put(out, "kubeletConfiguration", settings)
		}
		if selects, known := c.reserving[name]; c.serving && known && !selects && onlyReserved(out["requirements"]) {
			nodes.lose("requirements", "only machines in capacity reservations are allowed, and "+NodeClassKind+" "+name+" selects none by "+reservationField+": nothing is bought")
		}
	}
	for _, known := range []string{"group", "kind", "apiVersion"} {
		class.take(known)
	}
	class.done()
}

// onlyReserved reports whether the requirements allow no other capacity type than that of
// capacity reservations.
func onlyReserved(requirements any) bool {
	list, _ := requirements.([]any)
	return slices.ContainsFunc(list, func(r any) bool {
		requirement, _ := r.(map[string]any)
		values, _ := requirement["values"].([]any)
		return requirement["key"] == api.LabelCapacityType && requirement["operator"] == "In" && len(values) == 1 && values[0] == api.CapacityReserved
	})
}

func firstText(texts ...string) string {
	return texts[slices.IndexFunc(texts, func(t string) bool { return t != "" })]
}

// requirements keeps those that a Provisioner can have.
func (c *converter) requirements(nodes *fields) []any {
	var out []any
	for _, r := range nodes.items("requirements") {
		key := api.NormalizeLabel(r.text("key"))
		requirement := map[string]any{"key": key, "operator": r.take("operator")}
		values := r.take("values")
		if key == api.LabelCapacityType && !c.serving {
			values = withoutReserved(r, values)
		}
		put(requirement, "values", values)
		put(requirement, "minValues", r.take("minValues"))
		r.done()
		why, restricted := api.RestrictedLabel(key)
		switch {
		case key == labelNodePool:
			r.lose("key", "nodes carry the label "+api.LabelProvisioner+" instead of "+labelNodePool)
		case restricted:
			r.left["key"] = key
			r.refuse("key", fmt.Sprintf("the label %s %s", key, why))
		default:
			nodes.paths[fmt.Sprintf("spec.requirements[%d]", len(out))] = strings.TrimSuffix(r.path, ".")
			out = append(out, requirement)
		}
	}
	return out
}

// kubeletOfBeta returns the settings of a NodePool of v1beta1 that a Provisioner has too.
func kubeletOfBeta(nodes *fields) any {
	given, _ := nodes.take("kubelet").(map[string]any)
	settings := maps.Clone(given)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(kubeletSettings, name) {
			nodes.lose("kubelet."+name, "the setting is not supported")
			delete(settings, name)
		}
	}
	return settings
}

// undefaulted adds what keeps the defaults of a Provisioner away, which a NodePool
// does not have: it buys any architecture, capacity type and instance category
// that it does not speak of.
func (c *converter) undefaulted(said []any, labels any) []any {
	given, _ := labels.(map[string]any)
	silent := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool {
			return given[key] != nil || slices.ContainsFunc(said, func(r any) bool { return r.(map[string]any)["key"] == key })
		})
	}
	in := func(key string, values ...any) any {
		return map[string]any{"key": key, "operator": "In", "values": values}
	}
	out := said
	if silent(api.LabelArch) {
		out = append(out, in(api.LabelArch, "amd64", "arm64"))
	}
	if silent(api.LabelCapacityType) {
		types := []any{api.CapacitySpot, api.CapacityOnDemand}
		if c.serving {
			types = append(types, api.CapacityReserved)
		}
		out = append(out, in(api.LabelCapacityType, types...))
	}
	if silent(api.LabelInstanceType, api.LabelInstanceFamily, api.LabelInstanceCategory, api.LabelInstanceGeneration,
		api.LabelInstanceSize, api.LabelInstanceCPU, api.LabelInstanceMemory) {
		out = append(out, map[string]any{"key": api.LabelInstanceCategory, "operator": "Exists"})
	}
	return out
}

// withoutReserved drops the capacity type of capacity reservations, which a Provisioner
// does not have.
func withoutReserved(r *fields, values any) any {
	list, _ := values.([]any)
	i := slices.Index(list, any(api.CapacityReserved))
	if i < 0 {
		return values
	}
	if len(list) == 1 {
		r.left["values"] = list
		r.refuse("values", "a Provisioner buys from no capacity reservation, and nothing else is allowed")
		return values
	}
	r.lose("values", "a Provisioner buys from no capacity reservation")
	return slices.Delete(slices.Clone(list), i, i+1)
}

// disruptionOf converts when nodes go. What a Provisioner says at its root is set
// there.
func disruptionOf(in *fields, root map[string]any) map[string]any {
	ours := map[string]any{}
	policy, after := in.text("consolidationPolicy"), in.text("consolidateAfter")
	switch ttl, on, err := seconds(firstText(after, "0s")); {
	case err != nil:
		in.lose("consolidateAfter", fmt.Sprintf("%q is no duration", after))
	case !on: // never
	case policy == whenEmpty:
		root["ttlSecondsAfterEmpty"] = ttl
	default:
		root["consolidation"] = map[string]any{"enabled": true}
		put(ours, "consolidateAfter", after)
	}
	var budgets []any
	for _, b := range in.items("budgets") {
		budget := map[string]any{}
		for _, name := range []string{"nodes", "schedule", "duration"} {
			put(budget, name, b.take(name))
		}
		put(budget, "reasons", reasons(b))
		b.done()
		budgets = append(budgets, budget)
	}
	put(ours, "budgets", budgets)
	in.done()
	return ours
}

// reasonNames are Karpenter's names for the reasons of a disruption.
var reasonNames = map[string]string{
	"Empty": api.ReasonEmptiness, "Drifted": api.ReasonDrift, "Underutilized": api.ReasonConsolidation,
}

func reasons(budget *fields) []any {
	list, _ := budget.take("reasons").([]any)
	var out []any
	for _, item := range list {
		name, _ := item.(string)
		if ours, ok := reasonNames[name]; ok {
			out = append(out, ours)
		} else {
			budget.lose("reasons", fmt.Sprintf("the reason %q is not known", name))
		}
	}
	return out
}
