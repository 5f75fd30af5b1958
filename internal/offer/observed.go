package offer

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Observed is what a kubelet reported of a machine when it registered.
type Observed struct {
	InstanceType string
	ImageID      string
	// Kubelet is the configuration of the kubelet; nil for none.
	Kubelet *api.KubeletConfiguration
	// ProfileHash is that of the node profile that the machine was built from.
	ProfileHash string
	// Capacity and Allocatable are those of the Node's status.
	Capacity, Allocatable amount.List
}

// Learnt is a figure that observations have put in the place of an estimate.
type Learnt struct {
	InstanceType, ImageID string
	// Memory is the capacity that kubelets report, in bytes.
	Memory int64
}
