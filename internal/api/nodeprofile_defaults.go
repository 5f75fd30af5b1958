package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Values of MetadataOptions.
const (
	MetadataEnabled  = "enabled"
	MetadataDisabled = "disabled"
	TokensRequired   = "required"
	TokensOptional   = "optional"

	defaultHopLimit = 2
)

// DefaultVolumeType is that of volumes that name none.
const DefaultVolumeType = "gp3"

// Defaulted returns a copy in which every option has a value: the endpoint is
// enabled, IPv6 disabled, the hop limit 2, and tokens are required. A nil
// receiver gives the defaults.
func (m *MetadataOptions) Defaulted() *MetadataOptions {
	out := &MetadataOptions{}
	if m != nil {
		out = m.DeepCopy()
	}
	if out.HTTPEndpoint == nil {
		out.HTTPEndpoint = ptr.To(MetadataEnabled)
	}
	if out.HTTPProtocolIPv6 == nil {
		out.HTTPProtocolIPv6 = ptr.To(MetadataDisabled)
	}
	if out.HTTPPutResponseHopLimit == nil {
		out.HTTPPutResponseHopLimit = ptr.To[int64](defaultHopLimit)
	}
	if out.HTTPTokens == nil {
		out.HTTPTokens = ptr.To(TokensRequired)
	}
	return out
}

// Defaulted returns a copy in which the type is gp3, and the volume is encrypted and
// goes with its machine, unless it says otherwise. EC2 has other defaults.
func (v *BlockDevice) Defaulted() *BlockDevice {
	out := v.DeepCopy()
	if out.VolumeType == nil {
		out.VolumeType = ptr.To(DefaultVolumeType)
	}
	if out.Encrypted == nil {
		out.Encrypted = ptr.To(true)
	}
	if out.DeleteOnTermination == nil {
		out.DeleteOnTermination = ptr.To(true)
	}
	return out
}

// DefaultSelectors returns a copy in which missing selectors find what carries
// the tag kubernetes.io/cluster/<cluster>. A profile with a launch template of
// its own needs no security groups. Without a cluster's name nothing can be
// defaulted, and a missing selector is an error at path.
func (s *NodeProfile) DefaultSelectors(cluster string, path *field.Path) (*NodeProfile, finding.List) {
	var errs finding.List
	out := s.DeepCopy()
	fill := func(selector *map[string]string, name string) {
		switch {
		case len(*selector) > 0:
		case cluster == "":
			errs = append(errs, finding.Required(path.Child(name), finding.Say("without the cluster's name there is no default of %s<cluster>", TagClusterPrefix), finding.None))
		default:
			*selector = map[string]string{TagClusterPrefix + cluster: "*"}
		}
	}
	fill(&out.SubnetSelector, "subnetSelector")
	if out.LaunchTemplate == nil {
		fill(&out.SecurityGroupSelector, "securityGroupSelector")
	}
	return out, errs
}

// VolumeGiB is a volume's size in GiB, the unit of EBS, rounded up.
func VolumeGiB(size resource.Quantity) int64 {
	const gib = 1 << 30
	bytes := size.Value()
	whole := bytes / gib
	if bytes%gib > 0 {
		whole++
	}
	return whole
}
