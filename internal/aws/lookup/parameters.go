package lookup

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// parameter is a public SSM parameter whose value is the id of an image.
type parameter struct {
	name         string
	requirements []api.Requirement // on the labels of the machines that the image is for
}

// variant says for which accelerators an image has drivers.
type variant int

const (
	standard variant = iota
	nvidia
	neuron
)

// requirementsFor returns the requirements of an image for an architecture and a variant. The
// standard image is for machines without NVIDIA GPUs and AWS accelerators.
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

// parametersOf returns the parameters of the current EKS images of a family for a Kubernetes
// version. Not all of them exist for every version.
func parametersOf(family, version string) []parameter {
	switch family {
	case api.FamilyAL2:
		path := "/aws/service/eks/optimized-ami/" + version + "/%s/recommended/image_id"
		return []parameter{
			{fmt.Sprintf(path, "amazon-linux-2"), requirementsFor("amd64", standard)},
			{fmt.Sprintf(path, "amazon-linux-2-arm64"), requirementsFor("arm64", standard)},
			{fmt.Sprintf(path, "amazon-linux-2-gpu"), requirementsFor("amd64", nvidia)}, // one image for both accelerators
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
		return []parameter{ // the standard image also has the Neuron driver
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
// Bottlerocket, instead of the current ones. Only AL2, AL2023 and Bottlerocket have
// parameters for each release; those of other families are left out.
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

// ubuntuSeries returns the path of the Ubuntu release that Canonical builds for a Kubernetes
// version, with verbs for that version and the architecture.
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
