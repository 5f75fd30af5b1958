package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
)

// wellKnown are the node labels whose values follow from the machine that is
// bought, so that requirements on them choose the machine.
var wellKnown = sets.New(
	LabelZone, LabelRegion, LabelInstanceType, LabelArch, LabelOS, LabelWindowsBuild, LabelCapacityType, LabelZoneID,
	LabelReservationID, LabelReservationType,
	LabelInstanceHypervisor, LabelInstanceEncryptionInTransit, LabelInstanceCategory, LabelInstanceGeneration,
	LabelInstanceFamily, LabelInstanceSize, LabelInstanceCPU, LabelInstanceCPUManufacturer, LabelInstanceMemory,
	LabelInstanceNetworkBandwidth, LabelInstanceEBSBandwidth, LabelInstancePods, LabelInstanceLocalNVMe,
	LabelInstanceGPUName, LabelInstanceGPUManufacturer, LabelInstanceGPUCount, LabelInstanceGPUMemory,
	LabelInstanceAcceleratorName, LabelInstanceAcceleratorMaker, LabelInstanceAcceleratorCount, LabelInstanceAMIID,
)

// aliases maps deprecated label keys to their successors.
var aliases = map[string]string{
	"beta.kubernetes.io/arch":                  LabelArch,
	"beta.kubernetes.io/os":                    LabelOS,
	"beta.kubernetes.io/instance-type":         LabelInstanceType,
	"failure-domain.beta.kubernetes.io/zone":   LabelZone,
	"failure-domain.beta.kubernetes.io/region": LabelRegion,
	"topology.ebs.csi.aws.com/zone":            LabelZone,
}

// restrictedDomains belong to Kubernetes and Packhorse: labels in them and in
// their subdomains are set by neither users nor pods.
var restrictedDomains = []string{"kubernetes.io", "k8s.io", "karpenter.sh"}

// openDomains are exceptions within restrictedDomains, with their subdomains.
var openDomains = []string{"node-restriction.kubernetes.io", "kops.k8s.io", "node.kubernetes.io"}

// WellKnown reports whether the key is a well-known label. Deprecated aliases
// are not: normalise them first.
func WellKnown(key string) bool { return wellKnown.Has(key) }

// WellKnownLabels lists the well-known labels in alphabetical order.
func WellKnownLabels() []string { return sets.List(wellKnown) }

// KnownLabels are the well-known labels and their aliases.
var KnownLabels = sync.OnceValue(func() []string {
	return append(WellKnownLabels(), slices.Sorted(maps.Keys(aliases))...)
})

// Suggest returns the label, or the other word, of the candidates that was probably meant
// by an unknown one: the successor of an alias, or what suggest.Name finds.
func Suggest(unknown string, candidates []string) (string, bool) {
	if successor, ok := aliases[unknown]; ok && slices.Contains(candidates, successor) {
		return successor, true
	}
	return suggest.Name(unknown, candidates)
}

// NormalizeLabel returns the successor of a deprecated alias, or the key itself.
func NormalizeLabel(key string) string {
	if successor, ok := aliases[key]; ok {
		return successor
	}
	return key
}

// AddDeprecatedLabels gives the labels of a Node the deprecated ones beside their successors. A label
// of a CSI driver is left to the driver.
func AddDeprecatedLabels(labels map[string]string) {
	for deprecated, successor := range aliases {
		value, ok := labels[successor]
		if domain, _, _ := strings.Cut(deprecated, "/"); ok && InDomain(domain, "beta.kubernetes.io") {
			labels[deprecated] = value
		}
	}
}

// RestrictedLabel reports whether a label or requirement of the Provisioner may not use
// the key, and why. One that stands for a NodePool may have what Karpenter lets a NodePool
// have: labels in the domains of Kubernetes.
func (p *Provisioner) RestrictedLabel(key string) (reason string, restricted bool) {
	domain, _, _ := strings.Cut(key, "/")
	if p.Source != nil && key != LabelHostname && !InDomain(domain, ProvisionerGroup) && !InDomain(domain, AWSDomain) {
		return "", false
	}
	return RestrictedLabel(key)
}

// RestrictedLabel reports whether a label or requirement of a Provisioner or a
// pod may not use the key, and why. Aliases count as their successors.
func RestrictedLabel(key string) (reason string, restricted bool) {
	key = NormalizeLabel(key)
	switch {
	case key == LabelProvisioner:
		return "is set by Packhorse on every node", true
	case key == LabelHostname:
		return "is different on every node", true
	case WellKnown(key):
		return "", false
	}
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return "", false
	}
	if InDomain(domain, AWSDomain) {
		return fmt.Sprintf("is not a known label of %s", AWSDomain), true
	}
	if slices.ContainsFunc(openDomains, func(d string) bool { return InDomain(domain, d) }) {
		return "", false
	}
	for _, d := range restrictedDomains {
		if InDomain(domain, d) {
			return fmt.Sprintf("is in the reserved domain %s", d), true
		}
	}
	return "", false
}

// InDomain reports whether name is the domain or one of its subdomains.
func InDomain(name, domain string) bool {
	return name == domain || strings.HasSuffix(name, "."+domain)
}
