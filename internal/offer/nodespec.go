package offer

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// NodeSpec is what a machine's kubelet registers with.
type NodeSpec struct {
	Labels  map[string]string
	Taints  []corev1.Taint // taints and startup taints
	Kubelet *api.KubeletConfiguration
	Profile *api.NodeProfile // nil: the cloud's default
}
