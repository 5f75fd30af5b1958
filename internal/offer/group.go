package offer

import corev1 "k8s.io/api/core/v1"

// NodeGroup is a set of machines that something else than a Provisioner keeps at a
// size: a managed node group, or a group of the Cluster Autoscaler.
type NodeGroup struct {
	Kind GroupKind
	Name string
	// InstanceTypes are those that it buys, as it lists them.
	InstanceTypes []string
	CapacityType  string // CapacitySpot or CapacityOnDemand; empty if it buys both
	// Min, Max and Desired are numbers of machines.
	Min, Max, Desired int32
	SubnetIDs         []string
	Zones             []string
	Labels            map[string]string
	Taints            []corev1.Taint
	AMIFamily         string // as in a node profile; empty if it is none of them
	ImageType         string // as EKS names it, such as AL2023_ARM_64_STANDARD; empty if not known
	Arch              string // as in kubernetes.io/arch; empty if not known
	DiskGiB           int32  // size of the root volume; 0 if not known
	Role              string // ARN of the machines' IAM role; empty if not known
	LaunchTemplate    string // name or id of a launch template of the user's own
}

// GroupKind is what keeps a NodeGroup.
type GroupKind string

// The kinds of groups.
const (
	ManagedNodeGroup GroupKind = "managed node group"
	AutoscalerGroup  GroupKind = "Cluster Autoscaler group"
)
