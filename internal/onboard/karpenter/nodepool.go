package karpenter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// defaultExpiry is the lifetime of nodes where a NodePool does not say: 720 hours
// (https://karpenter.sh/docs/concepts/nodepools/).
const defaultExpiry = "720h"

// The consolidation policy under which only empty nodes are removed.
const whenEmpty = "WhenEmpty"

// nodesPath is where a NodePool says what its nodes are.
const nodesPath = "spec.template.spec"

// poolPaths are the fields of a NodePool by those of the Provisioner.
var poolPaths = map[string]string{
	"spec.labels": "spec.template.metadata.labels", "spec.annotations": "spec.template.metadata.annotations",
	"spec.taints": nodesPath + ".taints", "spec.startupTaints": nodesPath + ".startupTaints",
	"spec.kubeletConfiguration":   nodesPath + ".kubelet",
	"spec.ttlSecondsUntilExpired": nodesPath + ".expireAfter", "spec.ttlSecondsAfterEmpty": "spec.disruption.consolidateAfter",
	"spec.consolidation": "spec.disruption.consolidationPolicy", "spec.disruption.terminationGracePeriod": nodesPath + ".terminationGracePeriod",
	"spec.providerRef": nodesPath + ".nodeClassRef", "spec.limits.resources": "spec.limits",
}

// pool converts a NodePool into the spec of a Provisioner. The document says how its
// limits are spelled.
func (c *converter) pool(o *Object, p *kinds.NodePool, document map[string]any) provisionerSpec {
	spec := ptr.Deref(p.Spec, kinds.PoolSpec{})
	template := ptr.Deref(spec.Template, kinds.PoolTemplate{})
	about, nodes := ptr.Deref(template.Metadata, kinds.PoolMetadata{}), ptr.Deref(template.Spec, kinds.PoolNodes{})
	class := Foreign(document)
	if class != "" {
		translateAutoMode(o, &about, &nodes)
	}
	out := provisionerSpec{
		Labels: labels(o, about.Labels), Annotations: about.Annotations, Taints: nodes.Taints, StartupTaints: nodes.StartupTaints,
		Requirements: c.undefaulted(c.requirements(o, nodes.Requirements), about.Labels), Weight: spec.Weight,
	}
	if class != "" {
		o.lose(nodesPath+".nodeClassRef", class+" is not converted: make a node profile with the subnets, security groups and the role that its nodes have")
	} else if ref := nodes.NodeClassRef; ref != nil && ptr.Deref(ref.Name, "") != "" {
		c.classOf(o, *ref.Name, &out)
	}
	expiry := ptr.Deref(nodes.ExpireAfter, defaultExpiry)
	if ttl, ok, err := seconds(expiry); err != nil {
		o.lose(nodesPath+".expireAfter", err.Error())
	} else if ok {
		out.TTLSecondsUntilExpired = &ttl
	}
	if spec.Disruption == nil {
		spec.Disruption = &kinds.PoolDisruption{}
	}
	disrupt(o, spec.Disruption, &out)
	out.Disruption.TerminationGracePeriod = nodes.TerminationGracePeriod
	if len(spec.Limits) > 0 {
		written, _ := document["spec"].(map[string]any)
		limits, _ := written["limits"].(map[string]any)
		out.Limits = map[string]any{"resources": withoutNulls(limits)}
	}
	if spec.Replicas != nil {
		o.refuse("spec.replicas", "a fixed number of nodes is not supported: give placeholder pods that many replicas")
	}
	return out
}

// withoutNulls leaves out what the API server leaves out.
func withoutNulls(entries map[string]any) map[string]any {
	out := maps.Clone(entries)
	maps.DeleteFunc(out, func(_ string, value any) bool { return value == nil })
	return out
}

// classOf refers to the node profile that an EC2NodeClass becomes, whose kubelet settings
// become the pool's.
func (c *converter) classOf(o *Object, name string, out *provisionerSpec) {
	out.ProviderRef = map[string]string{"name": name}
	kubelet, known := c.kubelet[name]
	if !known && !c.serving {
		o.leave(nodesPath+".nodeClassRef", "the "+kinds.NodeClassKind+" "+name+" is not there to convert, so its kubelet settings and its operating system are not here: convert them together")
	}
	out.KubeletConfiguration, c.used[name] = kubelet, true
	if c.windows[name] && silent(out.Requirements, out.Labels, api.LabelOS) {
		out.Requirements = append(out.Requirements, requirement(api.LabelOS, "In", "windows"))
	}
	if selects, known := c.reserving[name]; c.serving && known && !selects && onlyReserved(out.Requirements) {
		o.lose(nodesPath+".requirements", "only machines in capacity reservations are allowed, and "+kinds.NodeClassKind+" "+name+" selects none by "+reservationField+": nothing is bought")
	}
}

// onlyReserved reports whether the requirements allow no other capacity type than that of
// capacity reservations.
func onlyReserved(requirements []kinds.PoolRequirement) bool {
	return slices.ContainsFunc(requirements, func(r kinds.PoolRequirement) bool {
		return ptr.Deref(r.Key, "") == api.LabelCapacityType && ptr.Deref(r.Operator, "") == "In" && slices.Equal(r.Values, []string{api.CapacityReserved})
	})
}

// labels keeps those that a Provisioner can have.
func labels(o *Object, said map[string]string) map[string]string {
	out := maps.Clone(said)
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if why, restricted := (&api.Provisioner{Source: o.source()}).RestrictedLabel(key); restricted {
			o.refuse("spec.template.metadata.labels["+key+"]", fmt.Sprintf("the label %s %s", key, why))
			delete(out, key)
		}
	}
	return out
}

// requirements keeps those that a Provisioner can have.
func (c *converter) requirements(o *Object, said []kinds.PoolRequirement) []kinds.PoolRequirement {
	var out []kinds.PoolRequirement
	for i, r := range said {
		path := fmt.Sprintf("%s.requirements[%d]", nodesPath, i)
		key := api.NormalizeLabel(ptr.Deref(r.Key, ""))
		r.Key = &key
		if operator := ptr.Deref(r.Operator, ""); operator == "Exists" || operator == "DoesNotExist" {
			r.Values = nil // of no effect
		}
		if key == api.LabelCapacityType && !c.serving {
			switch ptr.Deref(r.Operator, "") {
			case "In":
				r.Values = withoutReserved(o, path+".values", r.Values)
			case "NotIn": // which a Provisioner never buys
				r.Values = slices.DeleteFunc(slices.Clone(r.Values), func(v string) bool { return v == api.CapacityReserved })
				if len(r.Values) == 0 {
					continue
				}
			}
		}
		why, restricted := (&api.Provisioner{Source: o.source()}).RestrictedLabel(key)
		switch {
		case key == api.LabelNodePool:
			o.lose(path+".key", "nodes carry the label "+api.LabelProvisioner+" instead of "+api.LabelNodePool)
		case restricted:
			o.refuse(path+".key", fmt.Sprintf("the label %s %s", key, why))
		default:
			o.from.Paths[fmt.Sprintf("spec.requirements[%d]", len(out))] = path
			out = append(out, r)
		}
	}
	return out
}

// undefaulted adds what keeps the defaults of a Provisioner away, which a NodePool
// does not have: it buys any architecture, capacity type and instance category
// that it does not speak of. The operating system is that of its class.
func (c *converter) undefaulted(said []kinds.PoolRequirement, labels map[string]string) []kinds.PoolRequirement {
	out := said
	if silent(said, labels, api.LabelArch) {
		out = append(out, requirement(api.LabelArch, "In", "amd64", "arm64"))
	}
	if silent(said, labels, api.LabelCapacityType) {
		types := []string{api.CapacitySpot, api.CapacityOnDemand}
		if c.serving {
			types = append(types, api.CapacityReserved)
		}
		out = append(out, requirement(api.LabelCapacityType, "In", types...))
	}
	if silent(said, labels, api.LabelInstanceType, api.LabelInstanceFamily, api.LabelInstanceCategory, api.LabelInstanceGeneration,
		api.LabelInstanceSize, api.LabelInstanceCPU, api.LabelInstanceMemory) {
		out = append(out, requirement(api.LabelInstanceCategory, "Exists"))
	}
	return out
}

// silent reports whether neither requirements nor labels speak of any of the keys.
func silent(said []kinds.PoolRequirement, labels map[string]string, keys ...string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		_, labelled := labels[key]
		return labelled || slices.ContainsFunc(said, func(r kinds.PoolRequirement) bool { return *r.Key == key })
	})
}

func requirement(key, operator string, values ...string) kinds.PoolRequirement {
	return kinds.PoolRequirement{Key: &key, Operator: &operator, Values: values}
}

// withoutReserved drops the capacity type of capacity reservations, which a Provisioner
// does not have.
func withoutReserved(o *Object, path string, values []string) []string {
	i := slices.Index(values, api.CapacityReserved)
	if i < 0 {
		return values
	}
	if len(values) == 1 {
		o.refuse(path, "a Provisioner buys from no capacity reservation, and nothing else is allowed")
		return values
	}
	o.lose(path, "a Provisioner buys from no capacity reservation")
	return slices.Delete(slices.Clone(values), i, i+1)
}

// reasonNames are Karpenter's names for the reasons of a disruption.
var reasonNames = map[string]string{
	"Empty": api.ReasonEmptiness, "Drifted": api.ReasonDrift, "Underutilized": api.ReasonConsolidation,
}

// disrupt converts when nodes go.
func disrupt(o *Object, in *kinds.PoolDisruption, out *provisionerSpec) {
	after := ptr.Deref(in.ConsolidateAfter, "")
	switch ttl, on, err := seconds(cmp.Or(after, "0s")); {
	case err != nil:
		o.lose("spec.disruption.consolidateAfter", err.Error())
	case !on: // never
	case ptr.Deref(in.ConsolidationPolicy, "") == whenEmpty:
		out.TTLSecondsAfterEmpty = &ttl
	default:
		out.Consolidation = map[string]bool{"enabled": true}
		out.Disruption.ConsolidateAfter = after
	}
	if in.Budgets == nil {
		in.Budgets = []kinds.PoolBudget{{}} // as the API server does; it holds for empty nodes too
	}
	for i, b := range in.Budgets {
		path, said := fmt.Sprintf("spec.disruption.budgets[%d]", i), b.Reasons
		b.Nodes, b.Reasons = cmp.Or(b.Nodes, ptr.To(api.DefaultBudget)), nil // as the API server does
		for _, name := range said {
			if ours, ok := reasonNames[name]; ok {
				b.Reasons = append(b.Reasons, ours)
			} else {
				o.lose(path+".reasons", fmt.Sprintf("the reason %q is not known", name))
			}
		}
		if len(said) > 0 && len(b.Reasons) == 0 {
			continue // without reasons it would hold for all
		}
		o.from.Paths[fmt.Sprintf("spec.disruption.budgets[%d]", len(out.Disruption.Budgets))] = path
		out.Disruption.Budgets = append(out.Disruption.Budgets, b)
	}
	if len(out.Disruption.Budgets) == 0 {
		out.Disruption.Budgets = []kinds.PoolBudget{{Nodes: ptr.To("100%")}} // none would be the default one
	}
}
