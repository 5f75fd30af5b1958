package karpenter

import (
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

// class converts the spec of an EC2NodeClass into that of a node profile.
func (c *converter) class(spec *fields, name, version string) map[string]any {
	out := map[string]any{}
	put(out, "subnetSelector", selector(spec, "subnetSelectorTerms"))
	put(out, "securityGroupSelector", selector(spec, "securityGroupSelectorTerms"))
	images(spec, out)
	for _, same := range []string{"instanceProfile", "userData", "tags", "detailedMonitoring", "instanceStorePolicy"} {
		put(out, same, spec.take(same))
	}
	if role := spec.text("role"); role != "" && out["instanceProfile"] == nil {
		c.role(spec, role, out)
	}
	put(out, "metadataOptions", metadataOptions(spec, version))
	put(out, "blockDeviceMappings", volumes(spec))
	if settings, ok := spec.take("kubelet").(map[string]any); ok {
		c.kubelet[name] = settings
	}
	for _, unsupported := range []string{
		"placementGroupSelector", "networkInterfaces", "ipPrefixCount", "connectionTracking", "cpuOptions", "context",
	} {
		spec.refuse(unsupported, "is not supported")
	}
	return out
}

// role converts a role into its instance profile.
func (c *converter) role(spec *fields, role string, out map[string]any) {
	profile := c.profiles[role]
	if profile.Name != "" {
		out["instanceProfile"] = profile.Name
		return
	}
	advice := "name the role's instance profile in instance_profile, or give the agent a default one"
	if profile.Missing != "" {
		advice = profile.Missing + ": " + advice
	}
	spec.lose("role", advice)
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
		in.done()
		put(mapping, "ebs", ebs)
		m.done()
		out = append(out, mapping)
	}
	return out
}

// images converts the image family and the terms that select images.
func images(spec *fields, out map[string]any) {
	family := spec.text("amiFamily")
	terms := spec.items("amiSelectorTerms")
	if len(terms) == 1 {
		if alias := terms[0].text("alias"); alias != "" {
			terms[0].done()
			family = aliasFamily(terms[0], alias)
			terms = nil
		}
	}
	switch {
	case slices.Contains(families, family):
		out["amiFamily"] = family
	case family != "":
		spec.lose("amiFamily", "the family "+family+" is not known")
	}
	put(out, "amiSelector", merge(terms, "amiSelectorTerms", spec))
}

func aliasFamily(term *fields, alias string) string {
	name, version, _ := strings.Cut(alias, "@")
	family, known := aliases[name]
	if !known {
		term.lose("alias", "the family of "+alias+" is not known")
		return ""
	}
	if version != "" && version != "latest" {
		term.lose("alias", "the version "+version+" is not pinned: select the image by ami_selector to pin it")
	}
	return family
}
