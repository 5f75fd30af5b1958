package api

// Names on nodes, pods and cloud resources. They are part of the wire format:
// existing clusters and manifests use them.
const (
	// LabelProvisioner names the Provisioner that owns a node.
	LabelProvisioner = "karpenter.sh/provisioner-name"
	// LabelCapacityType is how a machine was bought: CapacitySpot, CapacityOnDemand or CapacityReserved.
	LabelCapacityType = "karpenter.sh/capacity-type"
	// LabelInitialized is "true" once a node is up and its startup taints are gone.
	LabelInitialized = "karpenter.sh/initialized"

	// Finalizer holds a Node object until its instance is going.
	Finalizer = "karpenter.sh/termination"

	// AnnotationEmptiness is the RFC 3339 time at which a node was first seen empty.
	AnnotationEmptiness = "karpenter.sh/emptiness-timestamp"
	// AnnotationDisruption is the reason under which a node is being taken away.
	AnnotationDisruption = "karpenter.sh/voluntary-disruption"
	// AnnotationDoNotEvict on a pod ("true") blocks voluntary disruption of its node.
	AnnotationDoNotEvict = "karpenter.sh/do-not-evict"
	// AnnotationDoNotDisrupt on a pod or node ("true") blocks all voluntary disruption.
	AnnotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
	// AnnotationDoNotConsolidate on a node ("true") blocks consolidation.
	AnnotationDoNotConsolidate = "karpenter.sh/do-not-consolidate"
	// AnnotationProvisionerHash is the hash of the Provisioner a node was built from.
	AnnotationProvisionerHash = "karpenter.sh/provisioner-hash"
	// AnnotationProfileHash is the hash of the node profile a node was built from.
	AnnotationProfileHash = "karpenter.k8s.aws/nodetemplate-hash"

	// TaintDisruption (effect NoSchedule) marks a node that is being taken away.
	TaintDisruption = "karpenter.sh/disruption"

	// TagManagedBy holds the cluster's name on every cloud resource of ours.
	TagManagedBy = "karpenter.sh/managed-by"
	// TagLaunchID identifies one launch; the key for adopting machines after a crash.
	TagLaunchID = "packhorse.io/launch-id"
	// LaunchKarpenter is the launch id of the machines that Karpenter has bought and the
	// agent has taken over.
	LaunchKarpenter = "karpenter"
	// TaintUnregistered and TaintDisrupted are those by which Karpenter keeps pods off a
	// node that it does not know yet, and off one that it is about to take away. Only
	// Karpenter takes them off.
	TaintUnregistered = "karpenter.sh/unregistered"
	TaintDisrupted    = "karpenter.sh/disrupted"
	// TagClusterPrefix + cluster name = "owned" marks ownership as AWS tools know it.
	TagClusterPrefix = "kubernetes.io/cluster/"
	// TagEKSCluster holds the cluster's name on machines of Karpenter 1.0 and later.
	TagEKSCluster = "eks:eks-cluster-name"

	// TagLabelPrefix + label key on an instance holds a label that its node was
	// planned with beyond those of its Provisioner, so that the Node object can be
	// made again after a crash.
	TagLabelPrefix = "packhorse.io/label/"
	// AnnotationLaunchID on a node is the launch that bought its machine.
	AnnotationLaunchID = TagLaunchID
	// AnnotationHourlyPrice on a node is what its machine costs, in micro-dollars per hour.
	AnnotationHourlyPrice = "packhorse.io/hourly-price"
	// AnnotationLaunchReason on a node says in words what its machine was bought for,
	// and why it is of its type.
	AnnotationLaunchReason = "packhorse.io/launch-reason"
	// AnnotationSubnet on a node is the id of the subnet that its machine is in.
	AnnotationSubnet = "packhorse.io/subnet"
	// AnnotationSecurityGroups on a node holds the sorted ids of its machine's security
	// groups, separated by commas.
	AnnotationSecurityGroups = "packhorse.io/security-groups"
	// AnnotationGracePeriod on a node repeats the terminationGracePeriod of its Provisioner, for a drain that
	// goes on when the Provisioner is gone.
	AnnotationGracePeriod = "packhorse.io/termination-grace-period"
	// AnnotationInterrupted on a node of a NodePool, or one that consolidation removes, is "true" once the cloud has said that it takes its machine
	// back: its drain spares no pod.
	AnnotationInterrupted = "packhorse.io/interrupted"
	// AnnotationRemade on a node is "true" if its object was lost while its machine ran, and was made again: it is
	// to be drained.
	AnnotationRemade = "packhorse.io/remade"
	// AnnotationDisruptedAt is the RFC 3339 time at which a node was chosen to go.
	AnnotationDisruptedAt = "packhorse.io/disrupted-at"
	// AnnotationReplacedBy on a node that is being taken away names the nodes that
	// must be up before it is drained, separated by commas. Room on them is kept
	// for its pods.
	AnnotationReplacedBy = "packhorse.io/replaced-by"
	// AnnotationDisruptedWith on a node that consolidation removes names all nodes of its step, separated by
	// commas, if there are several: if one of them stays, all stay.
	AnnotationDisruptedWith = "packhorse.io/disrupted-with"
	// AnnotationSteered, on a pod, repeats the deletion cost that the agent has given it: as
	// long as both are equal, the cost is the agent's.
	AnnotationSteered = "packhorse.io/deletion-cost"
	// AnnotationSurge, on a Deployment or among the annotations of a Provisioner's nodes, asks
	// with "true" that one more replica is up before a pod is moved. On a Deployment,
	// "false" excludes it from what a Provisioner asks for.
	AnnotationSurge = "packhorse.io/surge"
	// AnnotationSurging, on a node, lists the Deployments that have been scaled up for pods of
	// the node, until they have been scaled back. As all annotations of nodes, kubelets may forge it.
	AnnotationSurging = "packhorse.io/surging"
	// AnnotationManagedAttach lets kube-controller-manager attach volumes to a node. A kubelet sets it when it registers.
	AnnotationManagedAttach = "volumes.kubernetes.io/controller-managed-attach-detach"
)

// Values of LabelCapacityType.
const (
	CapacitySpot     = "spot"
	CapacityOnDemand = "on-demand"
	CapacityReserved = "reserved" // from a capacity reservation
)

// Values of LabelReservationType.
const (
	ReservationDefault = "default"
	ReservationBlock   = "capacity-block" // a Capacity Block for ML, at the end of which EC2 ends its machines
)

// Well-known label keys of nodes.
const (
	LabelZone         = "topology.kubernetes.io/zone"
	LabelRegion       = "topology.kubernetes.io/region"
	LabelInstanceType = "node.kubernetes.io/instance-type"
	LabelArch         = "kubernetes.io/arch"
	LabelOS           = "kubernetes.io/os"
	LabelHostname     = "kubernetes.io/hostname"
	LabelWindowsBuild = "node.kubernetes.io/windows-build"
	LabelZoneID       = "topology.k8s.aws/zone-id"

	// AWSDomain is the domain of the instance-* labels.
	AWSDomain = "karpenter.k8s.aws"
	// LabelReservationID and LabelReservationType are those of the capacity reservation
	// that a node of CapacityReserved is in.
	LabelReservationID               = AWSDomain + "/capacity-reservation-id"
	LabelReservationType             = AWSDomain + "/capacity-reservation-type"
	LabelInstanceHypervisor          = AWSDomain + "/instance-hypervisor"
	LabelInstanceEncryptionInTransit = AWSDomain + "/instance-encryption-in-transit-supported"
	LabelInstanceCategory            = AWSDomain + "/instance-category"
	LabelInstanceGeneration          = AWSDomain + "/instance-generation"
	LabelInstanceFamily              = AWSDomain + "/instance-family"
	LabelInstanceSize                = AWSDomain + "/instance-size"
	LabelInstanceCPU                 = AWSDomain + "/instance-cpu"
	LabelInstanceCPUManufacturer     = AWSDomain + "/instance-cpu-manufacturer"
	LabelInstanceMemory              = AWSDomain + "/instance-memory" // MiB
	LabelInstanceNetworkBandwidth    = AWSDomain + "/instance-network-bandwidth"
	LabelInstanceEBSBandwidth        = AWSDomain + "/instance-ebs-bandwidth"
	LabelInstancePods                = AWSDomain + "/instance-pods"
	LabelInstanceLocalNVMe           = AWSDomain + "/instance-local-nvme"
	LabelInstanceGPUName             = AWSDomain + "/instance-gpu-name"
	LabelInstanceGPUManufacturer     = AWSDomain + "/instance-gpu-manufacturer"
	LabelInstanceGPUCount            = AWSDomain + "/instance-gpu-count"
	LabelInstanceGPUMemory           = AWSDomain + "/instance-gpu-memory"
	LabelInstanceAcceleratorName     = AWSDomain + "/instance-accelerator-name"
	LabelInstanceAcceleratorMaker    = AWSDomain + "/instance-accelerator-manufacturer"
	LabelInstanceAcceleratorCount    = AWSDomain + "/instance-accelerator-count"
	LabelInstanceAMIID               = AWSDomain + "/instance-ami-id"
)

// SetReservationLabels adds the labels of a machine in the capacity reservation with that id;
// an empty id adds none.
func SetReservationLabels(labels map[string]string, id string) {
	if id != "" {
		labels[LabelReservationID], labels[LabelReservationType] = id, ReservationDefault
	}
}
