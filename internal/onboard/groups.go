package onboard

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// suggestGroup writes the node profile and the provisioner that would buy the
// machines of a group. It stays where it is: both are suggestions.
func suggestGroup(g *offer.NodeGroup) []Item {
	profile := Item{Kind: string(g.Kind), Name: g.Name, Resource: profileResource}
	spec := map[string]any{}
	if len(g.SubnetIDs) > 0 {
		spec["subnetSelector"] = map[string]any{api.SelectorIDs: strings.Join(g.SubnetIDs, ",")}
	} else {
		profile.Notes = append(profile.Notes, "set subnet_selector to what finds the subnets of the nodes")
	}
	if g.AMIFamily != "" {
		spec["amiFamily"] = g.AMIFamily
	}
	profile.Notes = append(profile.Notes, imageNotes(g)...)
	// The last of a family's volumes holds the pods' data, to which the size applies.
	if volumes := offer.DefaultVolumes(g.AMIFamily); g.DiskGiB > 0 && len(volumes) > 0 {
		spec["blockDeviceMappings"] = []any{map[string]any{
			"deviceName": *volumes[len(volumes)-1].DeviceName, "ebs": map[string]any{"volumeSize": fmt.Sprintf("%dGi", g.DiskGiB), "volumeType": "gp3", "encrypted": true},
		}}
	}
	profile.Notes = append(profile.Notes, "set security_group_selector to what finds the security groups of the nodes")
	if g.Role != "" {
		profile.Notes = append(profile.Notes, "set instance_profile to a profile of the role "+g.Role)
	}
	if g.LaunchTemplate != "" {
		profile.Notes = append(profile.Notes, "its launch template "+g.LaunchTemplate+" may set more: image, user data, volumes, tags")
	}
	profile.configure(spec, reflect.TypeFor[api.NodeProfile]())

	provisioner := Item{Kind: string(g.Kind), Name: g.Name, Resource: provisionerResource}
	provisioner.Notes = append(provisioner.Notes, fmt.Sprintf("the group has %d to %d machines, %d now: a provisioner has no minimum size, its nodes come and go with the pods", g.Min, g.Max, g.Desired),
		"pods that cluster-autoscaler.kubernetes.io/safe-to-evict \"false\" has kept in place need the annotation karpenter.sh/do-not-disrupt \"true\"")
	spec = provisionerSpec(g, &provisioner)
	provisioner.configure(spec, reflect.TypeFor[api.ProvisionerSpec]())
	return []Item{profile, provisioner}
}

// imageNotes says where the images of the AMI family are not those of the group.
func imageNotes(g *offer.NodeGroup) []string {
	switch {
	case g.ImageType == "" || g.ImageType == "CUSTOM": // of the launch template
		return nil
	case g.AMIFamily == "":
		return []string{"no ami_family has images of the type " + g.ImageType + ": set it to Custom, ami_selector to what finds them, and user_data to what joins the cluster"}
	case strings.Contains(g.ImageType, "_FIPS"), strings.HasPrefix(g.ImageType, "WINDOWS_FULL"):
		return []string{"set ami_selector to what finds images of the type " + g.ImageType + ": those of the ami_family are others"}
	}
	return nil
}

func provisionerSpec(g *offer.NodeGroup, item *Item) map[string]any {
	spec := map[string]any{"providerRef": map[string]any{"name": g.Name}, "consolidation": map[string]any{"enabled": true}}
	labels := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(g.Labels)) {
		if why, restricted := api.RestrictedLabel(key); restricted {
			item.Notes = append(item.Notes, fmt.Sprintf("the label %s cannot be set: it %s", key, why))
			continue
		}
		labels[key] = g.Labels[key]
	}
	if len(labels) > 0 {
		spec["labels"] = labels
	}
	var taints []any
	for _, t := range g.Taints {
		taint := map[string]any{"key": t.Key, "effect": string(t.Effect)}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		taints = append(taints, taint)
	}
	if len(taints) > 0 {
		spec["taints"] = taints
	}
	spec["requirements"] = groupRequirements(g)
	if cores := mostCores(g); cores > 0 {
		spec["limits"] = map[string]any{"resources": map[string]any{"cpu": strconv.FormatInt(cores, 10)}}
	} else {
		spec["limits"] = map[string]any{"resources": map[string]any{"nodes": strconv.Itoa(int(g.Max))}}
	}
	if len(g.InstanceTypes) == 0 {
		item.Notes = append(item.Notes, "require the instance types of its launch template: AWS does not list them with the group")
	}
	return spec
}

func groupRequirements(g *offer.NodeGroup) []any {
	var out []any
	in := func(key string, values ...string) {
		out = append(out, map[string]any{"key": key, "operator": "In", "values": values})
	}
	if len(g.InstanceTypes) > 0 {
		in(api.LabelInstanceType, g.InstanceTypes...)
	}
	if g.CapacityType != "" {
		in(api.LabelCapacityType, g.CapacityType)
	} else {
		in(api.LabelCapacityType, api.CapacitySpot, api.CapacityOnDemand)
	}
	if g.Arch != "" {
		in(api.LabelArch, g.Arch)
	}
	if strings.HasPrefix(g.ImageType, "WINDOWS_") {
		in(api.LabelOS, "windows")
	}
	if len(g.Zones) > 0 {
		in(api.LabelZone, g.Zones...)
	}
	return out
}

// mostCores is what the group may have at its largest, of its largest type; 0 if
// none of its types is known.
func mostCores(g *offer.NodeGroup) int64 {
	var cores int64
	for _, name := range g.InstanceTypes {
		if h, ok := offer.Embedded().Find(name); ok {
			cores = max(cores, h.VCPUs)
		}
	}
	return cores * int64(g.Max)
}
