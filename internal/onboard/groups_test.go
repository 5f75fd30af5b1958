package onboard

import (
	"slices"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// The limit of a suggestion is the group's maximum size, also where the sizes of its machines are not known.
func TestSuggestionsHaveALimit(t *testing.T) {
	for name, c := range map[string]struct {
		types []string
		limit string
		noted bool // that instance types are to be set
	}{
		"known types":                    {[]string{"g5.xlarge", "g5.2xlarge"}, `{ cpu = "32" }`, false},
		"a type that is not known":       {[]string{"g99.xlarge"}, `{ nodes = "4" }`, false},
		"that of a launch template only": {nil, `{ nodes = "4" }`, true},
	} {
		items := configured(suggestGroup(&offer.NodeGroup{Kind: offer.ManagedNodeGroup, Name: "gpu", InstanceTypes: c.types, Max: 4, LaunchTemplate: "gpu"}))
		got := items[1]
		noted := slices.ContainsFunc(got.Notes, func(note string) bool {
			return strings.Contains(note, "require the instance types of its launch template")
		})
		if fields := strings.Join(strings.Fields(got.Configuration), " "); !strings.Contains(fields, "limits = "+c.limit) || noted != c.noted {
			t.Errorf("%s: notes %q\n%s", name, got.Notes, got.Configuration)
		}
	}
}

// What the images of a group imply is suggested, and what no AMI family implies is noted.
func TestSuggestionsFollowTheImages(t *testing.T) {
	for image, c := range map[string]struct {
		family, device string
		note           string
		windows        bool
	}{
		"AL2023_x86_64_STANDARD":     {"AL2023", "/dev/xvda", "", false},
		"BOTTLEROCKET_x86_64":        {"Bottlerocket", "/dev/xvdb", "", false},
		"BOTTLEROCKET_x86_64_FIPS":   {"Bottlerocket", "/dev/xvdb", "set ami_selector to what finds images of the type BOTTLEROCKET_x86_64_FIPS", false},
		"WINDOWS_CORE_2022_x86_64":   {"Windows2022", "/dev/sda1", "", true},
		"WINDOWS_FULL_2022_x86_64":   {"Windows2022", "/dev/sda1", "set ami_selector to what finds images of the type WINDOWS_FULL_2022_x86_64", true},
		"WINDOWS_CORE_2025_x86_64":   {"", "", "no ami_family has images of the type WINDOWS_CORE_2025_x86_64", true},
		"CUSTOM":                     {"", "", "", false},
		"AL2023_ARM_64_NVIDIA":       {"AL2023", "/dev/xvda", "", false},
		"BOTTLEROCKET_ARM_64_NVIDIA": {"Bottlerocket", "/dev/xvdb", "", false},
	} {
		items := configured(suggestGroup(&offer.NodeGroup{Kind: offer.ManagedNodeGroup, Name: "g", Max: 4, DiskGiB: 50, ImageType: image, AMIFamily: c.family}))
		profile, provisioner := items[0], items[1]
		if sized := strings.Contains(profile.Configuration, "volume_size"); sized != (c.device != "") || !strings.Contains(profile.Configuration, c.device) {
			t.Errorf("%s: want a volume %q of 50 GiB:\n%s", image, c.device, profile.Configuration)
		}
		noted := slices.ContainsFunc(profile.Notes, func(note string) bool { return strings.Contains(note, image) })
		if right := slices.ContainsFunc(profile.Notes, func(note string) bool { return strings.HasPrefix(note, c.note) }); noted != (c.note != "") || !right {
			t.Errorf("%s: notes %q, want one with %q", image, profile.Notes, c.note)
		}
		if windows := strings.Contains(provisioner.Configuration, `"windows"`); windows != c.windows {
			t.Errorf("%s: requires Windows: %t\n%s", image, windows, provisioner.Configuration)
		}
	}
}
