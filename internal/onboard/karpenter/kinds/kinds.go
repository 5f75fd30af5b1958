// Package kinds is Karpenter's NodePools and EC2NodeClasses as their definitions have
// them. All fields are pointers, lists or maps, so that a field that is not set differs from
// one that is set to its zero value.
package kinds

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
)

// The kinds of Karpenter, in any of their versions.
const (
	NodePoolKind  = "NodePool"
	NodeClassKind = "EC2NodeClass"
	NodeClaimKind = "NodeClaim" // by which Karpenter keeps account of its machines
)

// Versions that NodePools and EC2NodeClasses are served in, the newest first.
var Versions = []string{"v1", "v1beta1"}

// Resources of these kinds, without a version.
var (
	NodePools   = schema.GroupResource{Group: api.ProvisionerGroup, Resource: "nodepools"}
	NodeClasses = schema.GroupResource{Group: api.NodeTemplateGroup, Resource: "ec2nodeclasses"}
	NodeClaims  = schema.GroupResource{Group: api.ProvisionerGroup, Resource: "nodeclaims"}
)

// Known reports whether a manifest is a NodePool or an EC2NodeClass in a version that
// can be read.
func Known(document map[string]any) bool {
	apiVersion, _ := document["apiVersion"].(string)
	group, version, _ := strings.Cut(apiVersion, "/")
	switch document["kind"] {
	case NodePoolKind:
		return group == NodePools.Group && slices.Contains(Versions, version)
	case NodeClassKind:
		return group == NodeClasses.Group && slices.Contains(Versions, version)
	}
	return false
}

// NameOf returns the name of an object, or "".
func NameOf(document map[string]any) string {
	metadata, _ := document["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// UnknownSetting reports whether a field that the Decoder does not know, given by its path, is a setting of the kubelet.
// Entries of such a setting, whose paths end with their keys, are known.
func UnknownSetting(path string) bool {
	_, setting, ok := strings.Cut(path, ".kubelet.")
	return ok && !strings.HasSuffix(setting, "]")
}

// Decoder reads both kinds, and names the kind where a field belongs to another one: fields
// have moved among them from release to release.
var Decoder = decode.Decoder{Related: []decode.Kind{
	{Type: reflect.TypeFor[NodePool](), Name: "a " + NodePoolKind},
	{Type: reflect.TypeFor[NodeClass](), Name: "an " + NodeClassKind},
	{Type: reflect.TypeFor[api.Provisioner](), Name: "a " + api.ProvisionerKind},
}}

// NodePool is a NodePool of v1, with all fields that version 1.14 of Karpenter has.
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *PoolSpec      `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

// PoolSpec is the spec of a NodePool.
type PoolSpec struct {
	Template   *PoolTemplate       `json:"template,omitempty"`
	Disruption *PoolDisruption     `json:"disruption,omitempty"`
	Limits     corev1.ResourceList `json:"limits,omitempty"`
	Weight     *int32              `json:"weight,omitempty"`
	Replicas   *int64              `json:"replicas,omitempty"`
}

// PoolTemplate is what the nodes of a NodePool are made from.
type PoolTemplate struct {
	Metadata *PoolMetadata `json:"metadata,omitempty"`
	Spec     *PoolNodes    `json:"spec,omitempty"`
}

// PoolMetadata is what the Node objects of a NodePool carry.
type PoolMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PoolNodes is which nodes a NodePool has.
type PoolNodes struct {
	Requirements           []PoolRequirement `json:"requirements,omitempty"`
	Taints                 []PoolTaint       `json:"taints,omitempty"`
	StartupTaints          []PoolTaint       `json:"startupTaints,omitempty"`
	NodeClassRef           *ClassRef         `json:"nodeClassRef,omitempty"`
	ExpireAfter            *string           `json:"expireAfter,omitempty"`
	TerminationGracePeriod *string           `json:"terminationGracePeriod,omitempty"`
}

// PoolRequirement is a requirement of a NodePool.
type PoolRequirement struct {
	Key       *string  `json:"key,omitempty"`
	Operator  *string  `json:"operator,omitempty"`
	Values    []string `json:"values,omitempty"`
	MinValues *int64   `json:"minValues,omitempty"`
}

// PoolTaint is a taint of its nodes.
type PoolTaint struct {
	Key       *string      `json:"key,omitempty"`
	Value     *string      `json:"value,omitempty"`
	Effect    *string      `json:"effect,omitempty"`
	TimeAdded *metav1.Time `json:"timeAdded,omitempty"`
}

// ClassRef is the reference to the EC2NodeClass.
type ClassRef struct {
	Group *string `json:"group,omitempty"`
	Kind  *string `json:"kind,omitempty"`
	Name  *string `json:"name,omitempty"`
}

// PoolDisruption is when its nodes are taken away.
type PoolDisruption struct {
	ConsolidationPolicy *string      `json:"consolidationPolicy,omitempty"`
	ConsolidateAfter    *string      `json:"consolidateAfter,omitempty"`
	Budgets             []PoolBudget `json:"budgets,omitempty"`
}

// PoolBudget is how many of its nodes may be taken away at a time.
type PoolBudget struct {
	Nodes    *string  `json:"nodes,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Schedule *string  `json:"schedule,omitempty"`
	Duration *string  `json:"duration,omitempty"`
}

// NodePoolBeta is a NodePool of v1beta1, in which the kubelet's settings belong to the
// nodes and their lifetime to the disruption.
type NodePoolBeta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *PoolSpecBeta  `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

// PoolSpecBeta is the spec of a NodePool of v1beta1.
type PoolSpecBeta struct {
	Template   *PoolTemplateBeta   `json:"template,omitempty"`
	Disruption *PoolDisruptionBeta `json:"disruption,omitempty"`
	Limits     corev1.ResourceList `json:"limits,omitempty"`
	Weight     *int32              `json:"weight,omitempty"`
}

// PoolTemplateBeta is what the nodes of a NodePool of v1beta1 are made from.
type PoolTemplateBeta struct {
	Metadata *PoolMetadata  `json:"metadata,omitempty"`
	Spec     *PoolNodesBeta `json:"spec,omitempty"`
}

// PoolNodesBeta is which nodes a NodePool of v1beta1 has.
type PoolNodesBeta struct {
	Requirements  []PoolRequirement `json:"requirements,omitempty"`
	Taints        []PoolTaint       `json:"taints,omitempty"`
	StartupTaints []PoolTaint       `json:"startupTaints,omitempty"`
	NodeClassRef  *ClassRefBeta     `json:"nodeClassRef,omitempty"`
	Kubelet       *Kubelet          `json:"kubelet,omitempty"`
	Resources     map[string]any    `json:"resources,omitempty"`
}

// ClassRefBeta is the reference to the EC2NodeClass in v1beta1.
type ClassRefBeta struct {
	APIVersion *string `json:"apiVersion,omitempty"`
	Kind       *string `json:"kind,omitempty"`
	Name       *string `json:"name,omitempty"`
}

// PoolDisruptionBeta is when the nodes of a NodePool of v1beta1 are taken away.
type PoolDisruptionBeta struct {
	PoolDisruption `json:",inline"`

	ExpireAfter *string `json:"expireAfter,omitempty"`
}

// NodeClass is an EC2NodeClass of v1, with all fields that version 1.14 of Karpenter
// has. Fields that v1beta1 does not know are not distinguished: it has no more of them.
type NodeClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   *ClassSpec     `json:"spec,omitempty"`
	Status map[string]any `json:"status,omitempty"`
}

// ClassSpec is the spec of an EC2NodeClass.
type ClassSpec struct {
	SubnetSelectorTerms              []SubnetTerm        `json:"subnetSelectorTerms,omitempty"`
	SecurityGroupSelectorTerms       []GroupTerm         `json:"securityGroupSelectorTerms,omitempty"`
	AMISelectorTerms                 []ImageTerm         `json:"amiSelectorTerms,omitempty"`
	CapacityReservationSelectorTerms []ReservationTerm   `json:"capacityReservationSelectorTerms,omitempty"`
	PlacementGroupSelector           *PlacementGroup     `json:"placementGroupSelector,omitempty"`
	AMIFamily                        *string             `json:"amiFamily,omitempty"`
	Role                             *string             `json:"role,omitempty"`
	InstanceProfile                  *string             `json:"instanceProfile,omitempty"`
	AssociatePublicIPAddress         *bool               `json:"associatePublicIPAddress,omitempty"`
	IPPrefixCount                    *int32              `json:"ipPrefixCount,omitempty"`
	NetworkInterfaces                []NetworkInterface  `json:"networkInterfaces,omitempty"`
	ConnectionTracking               *ConnectionTracking `json:"connectionTracking,omitempty"`
	CPUOptions                       *CPUOptions         `json:"cpuOptions,omitempty"`
	UserData                         *string             `json:"userData,omitempty"`
	Tags                             map[string]string   `json:"tags,omitempty"`
	Kubelet                          *Kubelet            `json:"kubelet,omitempty"`
	BlockDeviceMappings              []Volume            `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy              *string             `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring               *bool               `json:"detailedMonitoring,omitempty"`
	MetadataOptions                  *Metadata           `json:"metadataOptions,omitempty"`
	Context                          *string             `json:"context,omitempty"`
}

// SubnetTerm is one way to select subnets.
type SubnetTerm struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   *string           `json:"id,omitempty"`
}

// GroupTerm is one way to select security groups.
type GroupTerm struct {
	Tags map[string]string `json:"tags,omitempty"`
	ID   *string           `json:"id,omitempty"`
	Name *string           `json:"name,omitempty"`
}

// ImageTerm is one way to select images.
type ImageTerm struct {
	Alias        *string           `json:"alias,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
	ID           *string           `json:"id,omitempty"`
	Name         *string           `json:"name,omitempty"`
	Owner        *string           `json:"owner,omitempty"`
	SSMParameter *string           `json:"ssmParameter,omitempty"`
}

// ReservationTerm is one way to select capacity reservations.
type ReservationTerm struct {
	Tags                  map[string]string `json:"tags,omitempty"`
	ID                    *string           `json:"id,omitempty"`
	OwnerID               *string           `json:"ownerID,omitempty"`
	InstanceMatchCriteria *string           `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroup is the placement group of an EC2NodeClass.
type PlacementGroup struct {
	Name *string `json:"name,omitempty"`
	ID   *string `json:"id,omitempty"`
}

// NetworkInterface is a network interface of its machines.
type NetworkInterface struct {
	NetworkCardIndex *int32  `json:"networkCardIndex,omitempty"`
	DeviceIndex      *int32  `json:"deviceIndex,omitempty"`
	InterfaceType    *string `json:"interfaceType,omitempty"`
}

// ConnectionTracking is how long its machines track connections.
type ConnectionTracking struct {
	TCPEstablishedTimeout *int32 `json:"tcpEstablishedTimeout,omitempty"`
	UDPStreamTimeout      *int32 `json:"udpStreamTimeout,omitempty"`
	UDPTimeout            *int32 `json:"udpTimeout,omitempty"`
}

// CPUOptions is what the CPUs of its machines are set to.
type CPUOptions struct {
	NestedVirtualization *string `json:"nestedVirtualization,omitempty"`
}

// Kubelet is the settings of its nodes' kubelets.
type Kubelet struct {
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

// Volume is a volume of its machines.
type Volume struct {
	DeviceName *string `json:"deviceName,omitempty"`
	RootVolume *bool   `json:"rootVolume,omitempty"`
	EBS        *Disk   `json:"ebs,omitempty"`
}

// Disk is how a volume is made.
type Disk struct {
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

// Metadata is how its machines reach the instance metadata.
type Metadata struct {
	HTTPEndpoint            *string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        *string `json:"httpProtocolIPv6,omitempty"`
	HTTPPutResponseHopLimit *int64  `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              *string `json:"httpTokens,omitempty"`
}
