package lookup

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// parameter is an SSM public parameter that holds the id of an image, and the
// machines that the image is for.
type parameter struct {
	name         string
	requirements []api.Requirement
}

// variant of an image by the devices that it has drivers for.
type variant int

const (
	standard variant = iota
	nvidia
	neuron
)

// requirementsFor an image of an architecture and a variant. A standard image is
// for machines without those devices that have images of their own.
func requirementsFor(arch string, v variant) []api.Requirement {
	out := []api.Requirement{{Key: api.LabelArch, Operator: api.OpIn, Values: []string{arch}}}
	switch v {
	case nvidia:
		out = append(out, api.Requirement{Key: api.LabelInstanceGPUManufacturer, Operator: api.OpIn, Values: []string{"nvidia"}})
	case neuron:
		out = append(out, api.Requirement{Key: api.LabelInstanceAcceleratorMaker, Operator: api.OpIn, Values: []string{"aws"}})
	case standard:
		out = append(out,
			api.Requirement{Key: api.LabelInstanceAcceleratorMaker, Operator: api.OpNotIn, Values: []string{"aws"}},
			api.Requirement{Key: api.LabelInstanceGPUManufacturer, Operator: api.OpNotIn, Values: []string{"nvidia"}})
	}
	return out
}

// parametersOf lists where the current EKS images of a family are published for
// a Kubernetes version. Not every version has every variant.
func parametersOf(family, version string) []parameter {
	switch family {
	case api.FamilyAL2:
		path := "/aws/service/eks/optimized-ami/" + version + "/%s/recommended/image_id"
		return []parameter{
			{fmt.Sprintf(path, "amazon-linux-2"), requirementsFor("amd64", standard)},
			{fmt.Sprintf(path, "amazon-linux-2-arm64"), requirementsFor("arm64", standard)},
			{fmt.Sprintf(path, "amazon-linux-2-gpu"), requirementsFor("amd64", nvidia)}, // one image for both devices
			{fmt.Sprintf(path, "amazon-linux-2-gpu"), requirementsFor("amd64", neuron)},
		}
	case api.FamilyAL2023:
		path := "/aws/service/eks/optimized-ami/" + version + "/amazon-linux-2023/%s/recommended/image_id"
		return []parameter{
			{fmt.Sprintf(path, "x86_64/standard"), requirementsFor("amd64", standard)},
			{fmt.Sprintf(path, "arm64/standard"), requirementsFor("arm64", standard)},
			{fmt.Sprintf(path, "x86_64/nvidia"), requirementsFor("amd64", nvidia)},
			{fmt.Sprintf(path, "arm64/nvidia"), requirementsFor("arm64", nvidia)},
			{fmt.Sprintf(path, "x86_64/neuron"), requirementsFor("amd64", neuron)},
		}
	case api.FamilyBottlerocket:
		path := "/aws/service/bottlerocket/aws-k8s-" + version + "%s/latest/image_id"
		return []parameter{ // the standard image runs Neuron devices too
			{fmt.Sprintf(path, "/x86_64"), requirementsFor("amd64", standard)},
			{fmt.Sprintf(path, "/arm64"), requirementsFor("arm64", standard)},
			{fmt.Sprintf(path, "/x86_64"), requirementsFor("amd64", neuron)},
			{fmt.Sprintf(path, "-nvidia/x86_64"), requirementsFor("amd64", nvidia)},
			{fmt.Sprintf(path, "-nvidia/arm64"), requirementsFor("arm64", nvidia)},
		}
	case api.FamilyUbuntu:
		path := "/aws/service/canonical/ubuntu/eks/" + ubuntuSeries(version) + "/ami-id"
		return []parameter{
			{fmt.Sprintf(path, version, "amd64"), requirementsFor("amd64", standard)},
			{fmt.Sprintf(path, version, "arm64"), requirementsFor("arm64", standard)},
		}
	case api.FamilyWindows2019, api.FamilyWindows2022:
		year := strings.TrimPrefix(family, "Windows")
		return []parameter{{
			fmt.Sprintf("/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year, version),
			requirementsFor("amd64", standard),
		}}
	}
	return nil
}

// pinnedTo returns the parameters of a release, such as v20240807 of AL2023 or v1.20.4 of
// Bottlerocket, in the place of the current ones. Only these families and AL2 publish
// their releases.
func pinnedTo(release, version string, current []parameter) []parameter {
	var out []parameter
	for _, p := range current {
		parts := strings.Split(p.name, "/")
		at := len(parts) - 2 // before image_id
		kind, variant := parts[at-2], parts[at-1]
		switch {
		case parts[at] == "latest":
			parts[at] = strings.TrimLeft(release, "v")
		case parts[at] != "recommended":
			continue
		case variant == "amazon-linux-2":
			parts[at] = "amazon-eks-node-" + version + "-" + release
		case strings.HasPrefix(variant, "amazon-linux-2-"):
			parts[at] = "amazon-eks-" + strings.TrimPrefix(variant, "amazon-linux-2-") + "-node-" + version + "-" + release
		default:
			parts[at] = "amazon-eks-node-al2023-" + kind + "-" + variant + "-" + version + "-" + release
		}
		out = append(out, parameter{strings.Join(parts, "/"), p.requirements})
	}
	return out
}

// ubuntuSeries returns the path of the Ubuntu release that Canonical builds for a
// Kubernetes version, with places for that version and the architecture.
func ubuntuSeries(version string) string {
	_, text, _ := strings.Cut(version, ".")
	minor, err := strconv.Atoi(text)
	switch {
	case err == nil && minor < 29:
		return "20.04/%s/stable/current/%s/hvm/ebs-gp2"
	case err == nil && minor < 31:
		return "22.04/%s/stable/current/%s/hvm/ebs-gp2"
	}
	return "24.04/%s/stable/current/%s/hvm/ebs-gp3"
}
