package karpenter

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// classPaths are the fields of an EC2NodeClass by those of the node profile.
var classPaths = map[string]string{
	"spec.subnetSelector": "spec.subnetSelectorTerms", "spec.securityGroupSelector": "spec.securityGroupSelectorTerms", "spec.amiSelector": "spec.amiSelectorTerms",
}

const reservationField = "capacityReservationSelectorTerms"

// class converts an EC2NodeClass into the spec of a node profile. Beyond it are the terms
// that only a class can have.
func (c *converter) class(o *Object, class *kinds.NodeClass, version string) profileSpec {
	s := ptr.Deref(class.Spec, kinds.ClassSpec{})
	terms := &api.ClassTerms{PublicAddress: s.AssociatePublicIPAddress}
	o.class = terms
	out := profileSpec{
		InstanceProfile: ptr.Deref(s.InstanceProfile, ""), UserData: s.UserData, Tags: s.Tags,
		DetailedMonitoring: s.DetailedMonitoring, InstanceStorePolicy: s.InstanceStorePolicy,
		MetadataOptions: ptr.Deref(s.MetadataOptions, kinds.Metadata{}),
	}
	terms.Subnets, out.SubnetSelector = o.subnets(s.SubnetSelectorTerms)
	terms.SecurityGroups, out.SecurityGroupSelector = o.groups(s.SecurityGroupSelectorTerms)
	o.images(&s, terms, &out)
	c.windows[class.Name] = strings.HasPrefix(out.AMIFamily, "Windows")
	if role := ptr.Deref(s.Role, ""); role != "" && out.InstanceProfile == "" {
		terms.Role, out.InstanceProfile = role, c.profiles[role].Name
		if c.serving {
			out.InstanceProfile, _ = class.Status["instanceProfile"].(string)
		}
		if out.InstanceProfile == "" {
			o.loseRole(c.profiles[role].Missing)
		}
	}
	if version == "v1" && out.MetadataOptions.HTTPPutResponseHopLimit == nil {
		out.MetadataOptions.HTTPPutResponseHopLimit = ptr.To[int64](1) // a node profile's default is another one
	}
	out.BlockDeviceMappings = o.volumes(s.BlockDeviceMappings)
	c.kubelet[class.Name] = s.Kubelet
	for _, field := range []struct {
		name  string
		there bool
	}{
		{"placementGroupSelector", ptr.Deref(s.PlacementGroupSelector, kinds.PlacementGroup{}) != kinds.PlacementGroup{}}, {"networkInterfaces", len(s.NetworkInterfaces) > 0},
		{"ipPrefixCount", s.IPPrefixCount != nil}, {"connectionTracking", ptr.Deref(s.ConnectionTracking, kinds.ConnectionTracking{}) != kinds.ConnectionTracking{}},
		{"cpuOptions", ptr.Deref(s.CPUOptions, kinds.CPUOptions{}) != kinds.CPUOptions{}}, {"context", ptr.Deref(s.Context, "") != ""},
	} {
		if field.there {
			o.refuse("spec."+field.name, "is not supported")
		}
	}
	terms.Reservations = reservations(s.CapacityReservationSelectorTerms)
	c.reserving[class.Name] = len(terms.Reservations) > 0
	if c.reserving[class.Name] {
		o.leave("spec."+reservationField, "a node profile buys from no capacity reservation")
	}
	if s.AssociatePublicIPAddress != nil {
		o.leave("spec.associatePublicIPAddress", "is left to the subnet")
	}
	return out
}

// loseRole notes that the instance profile of the role is not known.
func (o *Object) loseRole(why string) {
	advice := "name the role's instance profile in instance_profile, or give the agent a default one"
	if why != "" {
		advice = why + ": " + advice
	}
	o.leave("spec.role", advice)
}

func (o *Object) volumes(mappings []kinds.Volume) []kinds.Volume {
	var out []kinds.Volume
	for i, m := range mappings {
		if m.EBS != nil && m.EBS.VolumeInitializationRate != nil {
			disk := *m.EBS
			disk.VolumeInitializationRate, m.EBS = nil, &disk
			o.refuse(fmt.Sprintf("spec.blockDeviceMappings[%d].ebs.volumeInitializationRate", i), "is not supported")
		}
		out = append(out, m)
	}
	return out
}

// images converts the image family and the terms that select images.
func (o *Object) images(s *kinds.ClassSpec, beyond *api.ClassTerms, out *profileSpec) {
	family, terms := ptr.Deref(s.AMIFamily, ""), s.AMISelectorTerms
	if len(terms) == 1 && ptr.Deref(terms[0].Alias, "") != "" {
		alias := *terms[0].Alias
		if family == api.FamilyCustom {
			o.refuse("spec.amiFamily", "Custom with an alias is not supported: select the image by its id")
		}
		family = o.aliasFamily(alias)
		if _, version, _ := strings.Cut(alias, "@"); version != "latest" {
			beyond.ImageVersion = version
		}
		terms = nil
	}
	switch {
	case slices.Contains(api.AMIFamilies, family):
		out.AMIFamily = family
	case family != "":
		o.refuse("spec.amiFamily", "the family "+family+" is not supported")
	}
	beyond.Images, out.AMISelector = o.imageTerms(terms)
}

func (o *Object) aliasFamily(alias string) string {
	const path = "spec.amiSelectorTerms[0].alias"
	name, version, _ := strings.Cut(alias, "@")
	family := check.AliasFamilies[name]
	if !slices.Contains(api.AMIFamilies, family) {
		o.refuse(path, "the family of "+alias+" is not supported")
		return ""
	}
	if version != "" && version != "latest" {
		o.leave(path, "the version "+version+" is not pinned: select the image by ami_selector to pin it")
	}
	return family
}
