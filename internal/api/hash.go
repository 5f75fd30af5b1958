package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// provisionerStatics are the fields of a Provisioner that a node cannot follow
// after it was built. Requirements are left out because drift compares them by
// value, and what only steers behaviour does not make a node differ.
type provisionerStatics struct {
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []corev1.Taint    `json:"taints,omitempty"`
	StartupTaints []corev1.Taint    `json:"startupTaints,omitempty"`
	Kubelet       kubeletStatics    `json:"kubelet"`
	Provider      string            `json:"provider,omitempty"`
}

type kubeletStatics struct {
	*KubeletConfiguration
	// These replace the fields of the same JSON name.
	SystemReserved map[corev1.ResourceName]string `json:"systemReserved,omitempty"`
	KubeReserved   map[corev1.ResourceName]string `json:"kubeReserved,omitempty"`
}

// Hash identifies what the Provisioner puts on a node when it is built: labels,
// annotations, taints, startup taints, kubelet settings and the inline node
// profile. The order of lists of taints and the spelling of quantities do not
// matter. See IsHash for its form.
func (p *Provisioner) Hash() string {
	s := provisionerStatics{
		Labels:        maps.Clone(p.Spec.Labels),
		Annotations:   p.Spec.Annotations,
		Taints:        sortedTaints(p.Spec.Taints),
		StartupTaints: sortedTaints(p.Spec.StartupTaints),
	}
	maps.DeleteFunc(s.Labels, func(key, _ string) bool { return Implied(key) })
	if k := p.Spec.KubeletConfiguration; k != nil {
		s.Kubelet = kubeletStatics{
			KubeletConfiguration: k,
			SystemReserved:       canonicalResources(k.SystemReserved),
			KubeReserved:         canonicalResources(k.KubeReserved),
		}
	}
	if p.Spec.Provider != nil {
		s.Provider = p.inlineHash()
	}
	return digest(s)
}

// inlineHash falls back to the raw text for an inline profile that cannot be
// decoded: such a Provisioner is invalid and launches nothing.
func (p *Provisioner) inlineHash() string {
	inline, err := p.InlineProfile()
	if err != nil {
		return digest(string(p.Spec.Provider.Raw))
	}
	return inline.Hash()
}

// Hash identifies what a machine is built from, without the selectors and the
// launch template, which drift compares by what they resolve to. Spelling out a
// default does not change it, except those of volumes, nor do the order of volumes
// and the spelling of sizes. Of an EC2NodeClass, the role counts, and not which of its
// instance profiles is used, because they give the same rights. See IsHash for its form.
func (s *NodeProfile) Hash() string {
	static := s.DeepCopy()
	static.SubnetSelector, static.SecurityGroupSelector, static.AMISelector, static.LaunchTemplate = nil, nil, nil, nil
	static.MetadataOptions = static.MetadataOptions.Defaulted()
	if !ptr.Deref(static.DetailedMonitoring, false) {
		static.DetailedMonitoring = nil
	}
	for i := range static.BlockDeviceMappings {
		if ebs := static.BlockDeviceMappings[i].EBS; ebs != nil && ebs.VolumeSize != nil {
			ebs.VolumeSize = ptr.To(resource.MustParse(canonicalQuantity(*ebs.VolumeSize)))
		}
	}
	slices.SortStableFunc(static.BlockDeviceMappings, func(a, b BlockDeviceMapping) int {
		return cmp.Compare(ptr.Deref(a.DeviceName, ""), ptr.Deref(b.DeviceName, ""))
	})
	role := s.role()
	if role != "" {
		static.InstanceProfile = nil
	}
	return digest(struct {
		*NodeProfile
		PublicAddress *bool  `json:"associatePublicIPAddress,omitempty"` // the selectors are compared by what they resolve to
		Role          string `json:"role,omitempty"`
	}{static, s.PublicAddress(), role})
}

// role is that of an EC2NodeClass; empty where it names an instance profile instead.
func (s *NodeProfile) role() string {
	if s.Class == nil {
		return ""
	}
	return s.Class.Role
}

// SizeHash identifies what of the profile, which may be nil, determines the resources that pods get on its machines.
// Profiles that differ only in other fields, such as tags, have the same.
func (s *NodeProfile) SizeHash() string {
	if s == nil {
		s = &NodeProfile{}
	}
	return digest(NodeProfile{
		LaunchTemplate: s.LaunchTemplate, AMIFamily: s.AMIFamily, UserData: s.UserData,
		BlockDeviceMappings: s.BlockDeviceMappings, InstanceStorePolicy: s.InstanceStorePolicy,
	})
}

func sortedTaints(taints []corev1.Taint) []corev1.Taint {
	return slices.SortedFunc(slices.Values(taints), func(a, b corev1.Taint) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Value, b.Value))
	})
}

func canonicalResources(in corev1.ResourceList) map[corev1.ResourceName]string {
	out := make(map[corev1.ResourceName]string, len(in))
	for name, q := range in {
		out[name] = canonicalQuantity(q)
	}
	return out
}

// canonicalQuantity spells equal amounts equally: 1Gi and 1024Mi, 0.5 and 500m.
func canonicalQuantity(q resource.Quantity) string {
	return resource.NewMilliQuantity(q.MilliValue(), resource.DecimalSI).String()
}

// digest hashes the JSON form, in which maps are sorted and empty fields left out.
func digest(v any) string {
	asJSON, err := json.Marshal(v)
	if err != nil {
		panic("encode for hashing: " + err.Error()) // the types hold nothing that JSON cannot
	}
	sum := sha256.Sum256(asJSON)
	text := hex.EncodeToString(sum[:])
	for !IsHash(text[:hashLength]) && len(text) > hashLength {
		text = text[1:]
	}
	return text[:hashLength]
}

const hashLength = 16

// IsHash reports whether a value has the form of the hashes of this package: sixteen
// lower-case hexadecimal digits of which at least one is a letter. Others write to
// the same annotations, Karpenter for instance decimal numbers of up to twenty
// digits, and what they write says nothing about how a node of ours was built.
func IsHash(value string) bool {
	return len(value) == hashLength && strings.Trim(value, "0123456789abcdef") == "" && strings.ContainsAny(value, "abcdef")
}
