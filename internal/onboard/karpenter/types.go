package karpenter

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// nodePool is a NodePool of v1, with all fields that version 1.14 of Karpenter has.
type nodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *poolSpec      `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

type poolSpec struct {
	Template   *poolTemplate       `json:"template,omitempty"`
	Disruption *poolDisruption     `json:"disruption,omitempty"`
	Limits     corev1.ResourceList `json:"limits,omitempty"`
	Weight     *int32              `json:"weight,omitempty"`
	Replicas   *int64              `json:"replicas,omitempty"`
}

type poolTemplate struct {
	Metadata *poolMetadata `json:"metadata,omitempty"`
	Spec     *poolNodes    `json:"spec,omitempty"`
}

type poolMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type poolNodes struct {
	Requirements           []poolRequirement `json:"requirements,omitempty"`
	Taints                 []poolTaint       `json:"taints,omitempty"`
	StartupTaints          []poolTaint       `json:"startupTaints,omitempty"`
	NodeClassRef           *classRef         `json:"nodeClassRef,omitempty"`
	ExpireAfter            *string           `json:"expireAfter,omitempty"`
	TerminationGracePeriod *string           `json:"terminationGracePeriod,omitempty"`
}

type poolRequirement struct {
	Key       *string  `json:"key,omitempty"`
	Operator  *string  `json:"operator,omitempty"`
	Values    []string `json:"values,omitempty"`
	MinValues *int64   `json:"minValues,omitempty"`
}

type poolTaint struct {
	Key       *string      `json:"key,omitempty"`
	Value     *string      `json:"value,omitempty"`
	Effect    *string      `json:"effect,omitempty"`
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

type classRef struct {
	Group *string `json:"group,omitempty"`
	Kind  *string `json:"kind,omitempty"`
	Name  *string `json:"name,omitempty"`
}

type poolDisruption struct {
	ConsolidationPolicy *string      `json:"consolidationPolicy,omitempty"`
	ConsolidateAfter    *string      `json:"consolidateAfter,omitempty"`
	Budgets             []poolBudget `json:"budgets,omitempty"`
}

type poolBudget struct {
	Nodes    *string  `json:"nodes,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Schedule *string  `json:"schedule,omitempty"`
	Duration *string  `json:"duration,omitempty"`
}

// nodePoolBeta is a NodePool of v1beta1, in which the kubelet's settings belong to the
// nodes and their lifetime to the disruption.
type nodePoolBeta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *poolSpecBeta  `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

type poolSpecBeta struct {
	Template   *poolTemplateBeta   `json:"template,omitempty"`
	Disruption *poolDisruptionBeta `json:"disruption,omitempty"`
	Limits     corev1.ResourceList `json:"limits,omitempty"`
	Weight     *int32              `json:"weight,omitempty"`
}

type poolTemplateBeta struct {
	Metadata *poolMetadata  `json:"metadata,omitempty"`
	Spec     *poolNodesBeta `json:"spec,omitempty"`
}

type poolNodesBeta struct {
	Requirements  []poolRequirement `json:"requirements,omitempty"`
	Taints        []poolTaint       `json:"taints,omitempty"`
	StartupTaints []poolTaint       `json:"startupTaints,omitempty"`
	NodeClassRef  *classRefBeta     `json:"nodeClassRef,omitempty"`
	Kubelet       *kubelet          `json:"kubelet,omitempty"`
	Resources     map[string]any    `json:"resources,omitempty"`
}

type classRefBeta struct {
	APIVersion *string `json:"apiVersion,omitempty"`
	Kind       *string `json:"kind,omitempty"`
	Name       *string `json:"name,omitempty"`
}

type poolDisruptionBeta struct {
	poolDisruption `json:",inline"`

	ExpireAfter *string `json:"expireAfter,omitempty"`
}

// current is the NodePool in the form of v1, beside the settings of its kubelets.
func (p *nodePoolBeta) current(o *Object) (*nodePool, *kubelet) {
	spec := ptr.Deref(p.Spec, poolSpecBeta{})
	template := ptr.Deref(spec.Template, poolTemplateBeta{})
	nodes, disruption := ptr.Deref(template.Spec, poolNodesBeta{}), ptr.Deref(spec.Disruption, poolDisruptionBeta{})
	if len(nodes.Resources) > 0 {
		o.lose(nodesPath+".resources", "has no counterpart")
	}
	var ref *classRef
	if r := nodes.NodeClassRef; r != nil {
		ref = &classRef{Kind: r.Kind, Name: r.Name}
	}
	return &nodePool{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta, Spec: &poolSpec{
		Template: &poolTemplate{Metadata: template.Metadata, Spec: &poolNodes{
			Requirements: nodes.Requirements, Taints: nodes.Taints, StartupTaints: nodes.StartupTaints, NodeClassRef: ref, ExpireAfter: disruption.ExpireAfter,
		}},
		Disruption: &disruption.poolDisruption, Limits: spec.Limits, Weight: spec.Weight,
	}}, nodes.Kubelet
}

// nodeClass is an EC2NodeClass of v1, with all fields that version 1.14 of Karpenter
// has. Fields that v1beta1 does not know are not distinguished: it has no more of them.
type nodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *classSpec     `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

type classSpec struct {
	SubnetSelectorTerms              []subnetTerm        `json:"subnetSelectorTerms,omitempty"`
	SecurityGroupSelectorTerms       []groupTerm         `json:"securityGroupSelectorTerms,omitempty"`
	AMISelectorTerms                 []imageTerm         `json:"amiSelectorTerms,omitempty"`
	CapacityReservationSelectorTerms []reservationTerm   `json:"capacityReservationSelectorTerms,omitempty"`
	PlacementGroupSelector           *placementGroup     `json:"placementGroupSelector,omitempty"`
	AMIFamily                        *string             `json:"amiFamily,omitempty"`
	Role                             *string             `json:"role,omitempty"`
	InstanceProfile                  *string             `json:"instanceProfile,omitempty"`
	AssociatePublicIPAddress         *bool               `json:"associatePublicIPAddress,omitempty"`
	IPPrefixCount                    *int32              `json:"ipPrefixCount,omitempty"`
	NetworkInterfaces                []networkInterface  `json:"networkInterfaces,omitempty"`
	ConnectionTracking               *connectionTracking `json:"connectionTracking,omitempty"`
	CPUOptions                       *cpuOptions         `json:"cpuOptions,omitempty"`
	UserData                         *string             `json:"userData,omitempty"`
	Tags                             map[string]string   `json:"tags,omitempty"`
	Kubelet                          *kubelet            `json:"kubelet,omitempty"`
	BlockDeviceMappings              []volume            `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy              *string             `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring               *bool               `json:"detailedMonitoring,omitempty"`
	MetadataOptions                  *metadata           `json:"metadataOptions,omitempty"`
	Context                          *string             `json:"context,omitempty"`
}

type subnetTerm struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   *string           `json:"id,omitempty"`
}

type groupTerm struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   *string           `json:"id,omitempty"`
	Name *string           `json:"name,omitempty"`
}

type imageTerm struct {
	Alias        *string           `json:"alias,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	ID           *string           `json:"id,omitempty"`
	Name         *string           `json:"name,omitempty"`
	Owner        *string           `json:"owner,omitempty"`
	SSMParameter *string           `json:"ssmParameter,omitempty"`
}

type reservationTerm struct {
	Tags                  map[string]string `json:"tags,omitempty"`
	ID                    *string           `json:"id,omitempty"`
	OwnerID               *string           `json:"ownerID,omitempty"`
	InstanceMatchCriteria *string           `json:"instanceMatchCriteria,omitempty"`
}

type placementGroup struct {
	Name *string `json:"name,omitempty"`
	ID   *string `json:"id,omitempty"`
}

type networkInterface struct {
	NetworkCardIndex *int32  `json:"networkCardIndex,omitempty"`
	DeviceIndex      *int32  `json:"deviceIndex,omitempty"`
	InterfaceType    *string `json:"interfaceType,omitempty"`
}

type connectionTracking struct {
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	UDPStreamTimeout      *int32 `json:"udpStreamTimeout,omitempty"`
	UDPTimeout            *int32 `json:"udpTimeout,omitempty"`
}

type cpuOptions struct {
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}

type kubelet struct {
	ClusterDNS                  []string          `json:"clusterDNS,omitempty"`
	MaxPods                     *int32            `json:"maxPods,omitempty"`
	PodsPerCore                 *int32            `json:"podsPerCore,omitempty"`
	SystemReserved              map[string]string `json:"systemReserved,omitempty"`
	KubeReserved                map[string]string `json:"kubeReserved,omitempty"`
	EvictionHard                map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft                map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod     map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod   *int32            `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThresholdPercent *int32            `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  *int32            `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota                 *bool             `json:"cpuCFSQuota,omitempty"`
}

type volume struct {
	DeviceName *string `json:"deviceName,omitempty"`
	RootVolume *bool   `json:"rootVolume,omitempty"`
	EBS        *disk   `json:"ebs,omitempty"`
}

type disk struct {
	VolumeSize               *string `json:"volumeSize,omitempty"`
	VolumeType               *string `json:"volumeType,omitempty"`
	IOPS                     *int64  `json:"iops,omitempty"`
	Throughput               *int64  `json:"throughput,omitempty"`
	Encrypted                *bool   `json:"encrypted,omitempty"`
	KMSKeyID                 *string `json:"kmsKeyID,omitempty"`
	SnapshotID               *string `json:"snapshotID,omitempty"`
	DeleteOnTermination      *bool   `json:"deleteOnTermination,omitempty"`
	VolumeInitializationRate *int32  `json:"volumeInitializationRate,omitempty"`
}

type metadata struct {
	HTTPEndpoint            *string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        *string `json:"httpProtocolIPv6,omitempty"`
	HTTPPutResponseHopLimit *int64  `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              *string `json:"httpTokens,omitempty"`
}
