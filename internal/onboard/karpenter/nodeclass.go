package karpenter

import (
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// aliases are the image families that an alias such as al2023@latest begins with.
var aliases = map[string]string{
	"al2": api.FamilyAL2, "al2023": api.FamilyAL2023, "bottlerocket": api.FamilyBottlerocket,
	"windows2019": api.FamilyWindows2019, "windows2022": api.FamilyWindows2022,
}

// families are those that both know by the same name.
var families = []string{
	api.FamilyAL2, api.FamilyAL2023, api.FamilyBottlerocket, api.FamilyUbuntu, api.FamilyWindows2019, api.FamilyWindows2022, api.FamilyCustom,
}

// kubeletSettings are those that a Provisioner has too.
var kubeletSettings = []string{
	"clusterDNS", "maxPods", "podsPerCore", "systemReserved", "kubeReserved", "evictionHard", "evictionSoft", "evictionSoftGracePeriod",
	"evictionMaxPodGracePeriod", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "cpuCFSQuota",
}

// class converts the spec of an EC2NodeClass into that of a node profile.
// Beyond it are the terms that only a class can have.
func (c *converter) class(spec *fields, name, version string) (map[string]any, *api.ClassTerms) {
	out, terms := map[string]any{}, &api.ClassTerms{}
	terms.Subnets = termsOf(spec, "subnetSelectorTerms")
	terms.SecurityGroups = termsOf(spec, "securityGroupSelectorTerms")
	put(out, "subnetSelector", selector(spec, "subnetSelectorTerms"))
	put(out, "securityGroupSelector", selector(spec, "securityGroupSelectorTerms"))
	images(spec, out, terms)
	for _, same := range []string{"instanceProfile", "userData", "tags", "detailedMonitoring", "instanceStorePolicy"} {
		put(out, same, spec.take(same))
	}
	if role := spec.text("role"); role != "" && out["instanceProfile"] == nil {
		c.role(spec, role, out, terms)
	}
	maps.Copy(spec.paths, map[string]string{
		"spec.subnetSelector": "spec.subnetSelectorTerms", "spec.securityGroupSelector": "spec.securityGroupSelectorTerms", "spec.amiSelector": "spec.amiSelectorTerms",
	})
	put(out, "metadataOptions", metadataOptions(spec, version))
	put(out, "blockDeviceMappings", volumes(spec))
	if settings, ok := spec.take("kubelet").(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			if !slices.Contains(kubeletSettings, key) {
				spec.left["kubelet."+key] = true
				spec.refuse("kubelet."+key, "the setting is not supported")
			}
		}
		c.kubelet[name] = settings
	}
	for _, unsupported := range []string{
		"placementGroupSelector", "networkInterfaces", "ipPrefixCount", "connectionTracking", "cpuOptions", "context",
	} {
		spec.refuse(unsupported, "is not supported")
	}
	terms.Reservations = reservationTerms(spec)
	if c.reserving[name] = len(terms.Reservations) > 0; c.reserving[name] {
		spec.left[reservationField] = true
		spec.leave(reservationField, "a node profile buys from no capacity reservation")
		spec.take(reservationField)
	}
	if public, ok := spec.left["associatePublicIPAddress"].(bool); ok {
		terms.PublicAddress = &public
		spec.take("associatePublicIPAddress")
		spec.leave("associatePublicIPAddress", "is left to the subnet")
	}
	return copied(out), terms
}

// role converts a role into its instance profile.
func (c *converter) role(spec *fields, role string, out map[string]any, terms *api.ClassTerms) {
	terms.Role = role
	profile := c.profiles[role]
	if profile.Name != "" {
		out["instanceProfile"] = profile.Name
		return
	}
	advice := "name the role's instance profile in instance_profile, or give the agent a default one"
	if profile.Missing != "" {
		advice = profile.Missing + ": " + advice
	}
	spec.leave("role", advice)
}

// metadataOptions spells the hop limit out, whose default differs: 1 in v1.
func metadataOptions(spec *fields, version string) map[string]any {
	in := spec.inner("metadataOptions")
	out := map[string]any{}
	if version == "v1" {
		out["httpPutResponseHopLimit"] = int64(1)
	}
	for _, same := range []string{"httpEndpoint", "httpProtocolIPv6", "httpPutResponseHopLimit", "httpTokens"} {
		put(out, same, in.take(same))
	}
	in.done()
	return out
}

func volumes(spec *fields) []any {
	var out []any
	for _, m := range spec.items("blockDeviceMappings") {
		mapping := map[string]any{}
		put(mapping, "deviceName", m.take("deviceName"))
		put(mapping, "rootVolume", m.take("rootVolume"))
		in, ebs := m.inner("ebs"), map[string]any{}
		for _, same := range []string{"volumeSize", "volumeType", "iops", "throughput", "encrypted", "kmsKeyID", "snapshotID", "deleteOnTermination"} {
			put(ebs, same, in.take(same))
		}
		in.refuse("volumeInitializationRate", "is not supported")
		in.done()
		put(mapping, "ebs", ebs)
		m.done()
		out = append(out, mapping)
	}
	return out
}

// images converts the image family and the terms that select images.
func images(spec *fields, out map[string]any, beyond *api.ClassTerms) {
	family := spec.text("amiFamily")
	beyond.Images = termsOf(spec, "amiSelectorTerms")
	terms := spec.items("amiSelectorTerms")
	if len(terms) == 1 {
		if alias := terms[0].text("alias"); alias != "" {
			terms[0].done()
			if own := aliasFamily(terms[0], alias); family != api.FamilyCustom {
				family = own
			} else {
				spec.left["amiFamily"], family = family, own
				spec.refuse("amiFamily", "Custom with an alias is not supported: select the image by its id")
			}
			if _, version, _ := strings.Cut(alias, "@"); version != "latest" {
				beyond.ImageVersion = version
			}
			terms, beyond.Images = nil, nil
		}
	}
	switch {
	case slices.Contains(families, family):
		out["amiFamily"] = family
	case family != "":
		spec.left["amiFamily"] = family
		spec.refuse("amiFamily", "the family "+family+" is not supported")
	}
	put(out, "amiSelector", merge(terms, "amiSelectorTerms", spec))
}

func aliasFamily(term *fields, alias string) string {
	name, version, _ := strings.Cut(alias, "@")
	family, known := aliases[name]
	if !known {
		term.left["alias"] = alias
		term.refuse("alias", "the family of "+alias+" is not supported")
		return ""
	}
	if version != "" && version != "latest" {
		term.leave("alias", "the version "+version+" is not pinned: select the image by ami_selector to pin it")
	}
	return family
}
