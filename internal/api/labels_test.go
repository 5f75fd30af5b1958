package api

import (
	"slices"
	"strings"
	"testing"
)

func TestWellKnownLabels(t *testing.T) {
	keys := WellKnownLabels()
	if len(keys) != 31 || !slices.IsSorted(keys) {
		t.Errorf("%d labels, sorted: %t", len(keys), slices.IsSorted(keys))
	}
	for _, key := range keys {
		if !WellKnown(key) {
			t.Errorf("%s is listed and not well-known", key)
		}
		if reason, restricted := RestrictedLabel(key); restricted {
			t.Errorf("%s is restricted: %s", key, reason)
		}
	}
	for _, key := range []string{"", "zone", LabelProvisioner, LabelHostname, "beta.kubernetes.io/arch"} {
		if WellKnown(key) {
			t.Errorf("%q counts as well-known", key)
		}
	}
}

func TestNormalizeLabel(t *testing.T) {
	for key, want := range map[string]string{
		"beta.kubernetes.io/arch":                  LabelArch,
		"beta.kubernetes.io/os":                    LabelOS,
		"beta.kubernetes.io/instance-type":         LabelInstanceType,
		"failure-domain.beta.kubernetes.io/zone":   LabelZone,
		"failure-domain.beta.kubernetes.io/region": LabelRegion,
		"topology.ebs.csi.aws.com/zone":            LabelZone,
		LabelZone:                                  LabelZone,
		"team":                                     "team",
	} {
		if got := NormalizeLabel(key); got != want {
			t.Errorf("NormalizeLabel(%s) = %s, want %s", key, got, want)
		}
	}
}

func TestRestrictedLabel(t *testing.T) {
	for key, want := range map[string]bool{
		"team":                                 false,
		"example.com/team":                     false,
		"notkubernetes.io/a":                   false,
		"kops.k8s.io/test":                     false,
		"a.kops.k8s.io/test":                   false,
		"node.kubernetes.io/test":              false,
		"node-restriction.kubernetes.io/a":     false,
		"a.node-restriction.kubernetes.io/b":   false,
		"beta.kubernetes.io/arch":              false,
		"topology.k8s.aws/zone-id":             false,
		"k8s.aws/a":                            false,
		"kubernetes.io/a":                      true,
		"k8s.io/a":                             true,
		"a.k8s.io/b":                           true,
		"beta.kubernetes.io/a":                 true,
		"karpenter.sh/a":                       true,
		"karpenter.sh/provisioner-name":        true,
		"kubernetes.io/hostname":               true,
		"karpenter.k8s.aws/instance-shoe-size": true,
		"a.karpenter.k8s.aws/b":                true,
	} {
		reason, restricted := RestrictedLabel(key)
		if restricted != want || (reason != "") != want {
			t.Errorf("RestrictedLabel(%s) = %q, %t, want %t", key, reason, restricted, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	nodeLabels := append(WellKnownLabels(), LabelProvisioner)
	for name, c := range map[string]struct {
		unknown    string
		candidates []string
		want       string
	}{
		"short form":          {"zone", nodeLabels, LabelZone},
		"short form of two":   {"instance-type", nodeLabels, LabelInstanceType},
		"another short form":  {"arch", nodeLabels, LabelArch},
		"the purchase":        {"capacity-type", nodeLabels, LabelCapacityType},
		"the owner":           {"provisioner-name", nodeLabels, LabelProvisioner},
		"alias":               {"failure-domain.beta.kubernetes.io/zone", nodeLabels, LabelZone},
		"another domain":      {"kubernetes.io/zone", nodeLabels, LabelZone},
		"typo in a long name": {"topology.kubernetes.io/zon", nodeLabels, LabelZone},
		"typo in a short one": {"zonne", nodeLabels, LabelZone},
		"separator":           {"on_demand", []string{CapacitySpot, CapacityOnDemand}, CapacityOnDemand},
		"case":                {"SPOT", []string{CapacitySpot, CapacityOnDemand}, CapacitySpot},
		"synonym":             {"aarch64", []string{"amd64", "arm64"}, "arm64"},
		"synonym elsewhere":   {"aarch64", []string{CapacitySpot, CapacityOnDemand}, ""},
		"nothing alike":       {"team", nodeLabels, ""},
		"a domain in common":  {"kubernetes.io/foo", nodeLabels, ""},
		"nothing":             {"", nodeLabels, ""},
		"no candidates":       {"zone", nil, ""},
		"too long for a typo": {strings.Repeat("a", 129), []string{strings.Repeat("a", 128)}, ""},
	} {
		if got, ok := Suggest(c.unknown, c.candidates); got != c.want || ok != (c.want != "") {
			t.Errorf("%s: Suggest(%q) = %q, %t, want %q", name, c.unknown, got, ok, c.want)
		}
	}
}
