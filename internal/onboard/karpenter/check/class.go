package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

const (
	maxTerms      = 30
	maxTermTags   = 20
	maxVolumes    = 50
	maxInterfaces = 150
	maxAlias      = 30
)

// AliasFamilies are the families of aliases, with the value of amiFamily that goes with
// each.
var AliasFamilies = map[string]string{
	"al2": "AL2", "al2023": "AL2023", "bottlerocket": "Bottlerocket",
	"windows2019": "Windows2019", "windows2022": "Windows2022", "windows2025": "Windows2025",
}

// reservedTags cannot be set.
var reservedTags = []string{"eks:eks-cluster-name", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass"}

// class checks an EC2NodeClass of v1.
func (r *rules) class(c *kinds.NodeClass) {
	if c.Spec == nil {
		return // the definition does not ask for it
	}
	s := c.Spec
	r.subnets("spec.subnetSelectorTerms", s.SubnetSelectorTerms)
	r.groups("spec.securityGroupSelectorTerms", s.SecurityGroupSelectorTerms)
	r.images("spec.amiSelectorTerms", s.AMISelectorTerms)
	r.family(s)
	r.reservations("spec.capacityReservationSelectorTerms", s.CapacityReservationSelectorTerms)
	if s.PlacementGroupSelector != nil {
		r.placement("spec.placementGroupSelector", s.PlacementGroupSelector)
	}
	r.identity(s)
	if s.IPPrefixCount != nil && *s.IPPrefixCount < 0 {
		r.refuse("spec.ipPrefixCount", "must not be negative", "")
	}
	r.interfaces("spec.networkInterfaces", s.NetworkInterfaces)
	r.tracking("spec.connectionTracking", s.ConnectionTracking)
	if s.CPUOptions != nil {
		r.choose("spec.cpuOptions.nestedVirtualization", s.CPUOptions.NestedVirtualization, "enabled", "disabled")
	}
	r.tags("spec.tags", s.Tags)
	if s.Kubelet != nil {
		r.kubelet("spec.kubelet.", s.Kubelet)
	}
	r.volumes("spec.blockDeviceMappings", s.BlockDeviceMappings)
	r.choose("spec.instanceStorePolicy", s.InstanceStorePolicy, "RAID0")
	if m := s.MetadataOptions; m != nil {
		r.choose("spec.metadataOptions.httpEndpoint", m.HTTPEndpoint, "enabled", "disabled")
		r.choose("spec.metadataOptions.httpProtocolIPv6", m.HTTPProtocolIPv6, "enabled", "disabled")
		r.choose("spec.metadataOptions.httpTokens", m.HTTPTokens, "required", "optional")
		number(r, "spec.metadataOptions.httpPutResponseHopLimit", m.HTTPPutResponseHopLimit, 1, 64)
	}
}

// terms checks the length of a list of terms.
func (r *rules) terms(path string, there bool, length int) {
	if r.require(path, there, "give at least one term") && length == 0 {
		r.refuse(path, "must not be empty", "give at least one term")
	}
	r.most(path, length, maxTerms)
}

func (r *rules) subnets(path string, terms []kinds.SubnetTerm) {
	r.terms(path, terms != nil, len(terms))
	both := len(terms) > 0 // the rule asks whether all terms break it
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.termTags(at+".tags", t.Tags)
		r.in(subnetID, at+".id", t.ID)
		if t.Tags == nil && t.ID == nil {
			r.refuse(at, "is empty", "give tags or id")
		}
		both = both && t.ID != nil && t.Tags != nil
	}
	if both {
		r.refuse(path, "id cannot be combined with tags", "remove one of the two")
	}
}

func (r *rules) groups(path string, terms []kinds.GroupTerm) {
	r.terms(path, terms != nil, len(terms))
	ids, names := len(terms) > 0, len(terms) > 0
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.termTags(at+".tags", t.Tags)
		r.in(groupID, at+".id", t.ID)
		if t.Tags == nil && t.ID == nil && t.Name == nil {
			r.refuse(at, "is empty", "give tags, id or name")
		}
		ids = ids && t.ID != nil && (t.Tags != nil || t.Name != nil)
		names = names && t.Name != nil && (t.Tags != nil || t.ID != nil)
	}
	if ids || names {
		r.refuse(path, "id and name can be combined with nothing else", "keep one of them")
	}
}

func (r *rules) images(path string, terms []kinds.ImageTerm) {
	r.terms(path, terms != nil, len(terms))
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.termTags(at+".tags", t.Tags)
		r.in(imageID, at+".id", t.ID)
		others := t.Tags != nil || t.Name != nil || t.Owner != nil
		if !others && t.ID == nil && t.Alias == nil && t.SSMParameter == nil || t.Owner != nil && t.Tags == nil && t.Name == nil && t.ID == nil && t.Alias == nil && t.SSMParameter == nil {
			r.refuse(at, "selects nothing", "give alias, tags, id, name or ssmParameter")
		}
		if t.ID != nil && (others || t.Alias != nil) {
			r.refuse(at+".id", "can be combined with nothing else", "keep one of them")
		}
		if t.Alias == nil {
			continue
		}
		if others || t.ID != nil {
			r.refuse(at+".alias", "can be combined with nothing else", "keep one of them")
		}
		if len(terms) > 1 {
			r.refuse(at+".alias", "can be combined with no other term", "keep one of them")
		}
		r.alias(at+".alias", *t.Alias)
	}
}

func (r *rules) alias(path, alias string) {
	r.in(imageAlias, path, &alias)
	if len(alias) > maxAlias {
		r.refuse(path, fmt.Sprintf("is longer than %d characters", maxAlias), "shorten it")
	}
	name, version, _ := strings.Cut(alias, "@")
	version, _, _ = strings.Cut(version, "@")
	r.choose(path, &name, slices.Sorted(maps.Keys(AliasFamilies))...)
	if strings.HasPrefix(name, "windows") && version != "latest" {
		r.refuse(path, "no version of Windows can be pinned", "use "+name+"@latest")
	}
}

// family checks that the family is there, and goes with the alias.
func (r *rules) family(s *kinds.ClassSpec) {
	r.choose("spec.amiFamily", s.AMIFamily, "AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
	aliased := false
	for _, t := range s.AMISelectorTerms {
		if t.Alias == nil {
			continue
		}
		aliased = true
		name, _, _ := strings.Cut(*t.Alias, "@")
		if want := AliasFamilies[name]; s.AMIFamily != nil && want != "" && *s.AMIFamily != want && *s.AMIFamily != "Custom" {
			r.refuse("spec.amiFamily", "does not go with the alias "+*t.Alias, "use "+want+" or Custom, or remove it")
		}
	}
	if !aliased && s.AMIFamily == nil && s.AMISelectorTerms != nil {
		r.refuse("spec.amiFamily", "is required unless amiSelectorTerms has an alias", "such as AL2023")
	}
}

func (r *rules) termTags(path string, tags map[string]string) {
	r.most(path, len(tags), maxTermTags)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if key == "" || tags[key] == "" {
			r.refuse(path+"["+key+"]", "has an empty key or value", `a value of "*" selects any`)
		}
	}
}

func (r *rules) reservations(path string, terms []kinds.ReservationTerm) {
	r.most(path, len(terms), maxTerms)
	mixed := len(terms) > 0
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		r.termTags(at+".tags", t.Tags)
		r.in(reservationID, at+".id", t.ID)
		r.in(accountID, at+".ownerID", t.OwnerID)
		r.choose(at+".instanceMatchCriteria", t.InstanceMatchCriteria, "open", "targeted")
		if t.Tags == nil && t.ID == nil && t.InstanceMatchCriteria == nil {
			r.refuse(at, "selects nothing", "give tags, id or instanceMatchCriteria")
		}
		mixed = mixed && t.ID != nil && (t.Tags != nil || t.OwnerID != nil || t.InstanceMatchCriteria != nil)
	}
	if mixed {
		r.refuse(path, "id can be combined with nothing else", "keep one of them")
	}
}

func (r *rules) placement(path string, p *kinds.PlacementGroup) {
	r.in(placementID, path+".id", p.ID)
	if p.Name != nil && *p.Name == "" {
		r.refuse(path+".name", "must not be empty", "")
	}
	if (p.Name == nil) == (p.ID == nil) {
		r.refuse(path, "needs exactly one of name and id", "")
	}
}

// identity checks what the nodes are to AWS.
func (r *rules) identity(s *kinds.ClassSpec) {
	if s.Role != nil && *s.Role == "" {
		r.refuse("spec.role", "must not be empty", "")
	}
	if s.InstanceProfile != nil && *s.InstanceProfile == "" {
		r.refuse("spec.instanceProfile", "must not be empty", "")
	}
	if (s.Role == nil) == (s.InstanceProfile == nil) {
		r.refuse("spec", "needs exactly one of role and instanceProfile", "")
	}
}

func (r *rules) interfaces(path string, list []kinds.NetworkInterface) {
	r.most(path, len(list), maxInterfaces)
	type place struct{ card, device int32 }
	seen, efa := map[place]bool{}, map[int32]bool{}
	primary := len(list) == 0
	for i, n := range list {
		at := fmt.Sprintf("%s[%d].", path, i)
		complete := r.require(at+"networkCardIndex", n.NetworkCardIndex != nil, "")
		complete = r.require(at+"deviceIndex", n.DeviceIndex != nil, "") && complete
		complete = r.require(at+"interfaceType", n.InterfaceType != nil, "") && complete
		r.choose(at+"interfaceType", n.InterfaceType, "interface", "efa-only")
		if !complete {
			continue
		}
		p := place{*n.NetworkCardIndex, *n.DeviceIndex}
		if p.card < 0 || p.device < 0 {
			r.refuse(strings.TrimSuffix(at, "."), "an index is negative", "count from 0")
		}
		if seen[p] {
			r.refuse(strings.TrimSuffix(at, "."), "the place is taken by an earlier interface", "")
		}
		if *n.InterfaceType == "efa-only" {
			if efa[p.card] {
				r.refuse(strings.TrimSuffix(at, "."), "the network card has an efa-only interface already", "")
			}
			efa[p.card] = true
		}
		seen[p] = true
		primary = primary || p == place{} && *n.InterfaceType == "interface"
	}
	if !primary {
		r.refuse(path, "has no primary interface", "add one with networkCardIndex 0, deviceIndex 0 and interfaceType interface")
	}
}

func (r *rules) tracking(path string, t *kinds.ConnectionTracking) {
	if t == nil {
		return
	}
	number(r, path+".tcpEstablishedTimeout", t.TCPEstablishedTimeout, 60, 432000)
	number(r, path+".udpStreamTimeout", t.UDPStreamTimeout, 60, 180)
	number(r, path+".udpTimeout", t.UDPTimeout, 30, 60)
	if t.TCPEstablishedTimeout == nil && t.UDPStreamTimeout == nil && t.UDPTimeout == nil {
		r.refuse(path, "is empty", "set one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout")
	}
}

func (r *rules) tags(path string, tags map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		switch {
		case key == "":
			r.refuse(path, "a tag needs a key", "")
		case slices.Contains(reservedTags, key) || strings.HasPrefix(key, strings.TrimSuffix(api.TagClusterPrefix, "/")):
			r.refuse(path+"["+key+"]", "the tag is reserved", "remove it")
		}
	}
}

func (r *rules) volumes(path string, list []kinds.Volume) {
	r.most(path, len(list), maxVolumes)
	roots := 0
	for i, v := range list {
		if v.RootVolume != nil && *v.RootVolume {
			roots++
		}
		at, e := fmt.Sprintf("%s[%d].ebs", path, i), v.EBS
		if e == nil {
			continue
		}
		r.in(volumeSize, at+".volumeSize", e.VolumeSize)
		r.choose(at+".volumeType", e.VolumeType, "standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")
		number(r, at+".volumeInitializationRate", e.VolumeInitializationRate, 100, 300)
		if e.SnapshotID == nil && e.VolumeSize == nil {
			r.refuse(at, "needs a snapshotID or a volumeSize", "set volumeSize, such as 20Gi")
		}
		if e.VolumeInitializationRate != nil && (e.SnapshotID == nil || *e.SnapshotID == "") {
			r.refuse(at+".volumeInitializationRate", "needs a snapshotID", "set it, or remove the rate")
		}
	}
	if roots > 1 {
		r.refuse(path, fmt.Sprintf("has %d root volumes", roots), "keep rootVolume on one of them")
	}
}
