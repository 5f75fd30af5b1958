package api

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Provisioner declares which nodes may be bought for pods that need one, and when they are
// removed. It is the cluster-scoped resource karpenter.sh/v1alpha5.
//
// +kubebuilder:resource:path=provisioners,scope=Cluster,shortName=prov,categories=packhorse
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.providerRef.name`
// +kubebuilder:printcolumn:name="Weight",type=integer,JSONPath=`.spec.weight`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="CPU",type=string,JSONPath=`.status.resources.cpu`
// +kubebuilder:printcolumn:name="CPU limit",type=string,JSONPath=`.spec.limits.resources.cpu`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name becomes a label's value: at most 63 characters"
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProvisionerSpec   `json:"spec,omitempty"`
	Status ProvisionerStatus `json:"status,omitempty"`

	// Source is the object that this one stands for; nil for one that is itself.
	Source *Origin `json:"-"`
}

// Origin is an object of another kind that a Provisioner or a node profile stands for.
type Origin struct {
	// APIVersion and Kind of the object, such as karpenter.sh/v1 and NodePool.
	APIVersion, Kind string
	// Unsupported are the fields for which the object is not served.
	Unsupported []Unsupported
	// Waits is why the object is not served for now; empty if it is.
	Waits string
	// Paths are those of the object's fields, by those of the fields that stand for them,
	// such as spec.template.spec.taints by spec.taints.
	Paths map[string]string
}

// PathOf returns the path of the object's field that a path of what stands for it is
// about. Without a Source it is the path itself.
func (s *Origin) PathOf(path string) string {
	for at := len(path); s != nil && at > 0; at = strings.LastIndexAny(path[:at], ".[") {
		if own, ok := s.Paths[path[:at]]; ok {
			return own + path[at:]
		}
	}
	return path
}

// Unsupported is a field that cannot be served.
type Unsupported struct {
	// Path is the JSON path of the field, such as spec.replicas.
	Path string
	// Text says what is wrong, and what to do, without a full stop.
	Text string
}

// Owner returns the API version and the kind of the object that owns the Provisioner's
// nodes.
func (p *Provisioner) Owner() (apiVersion, kind string) {
	if p.Source == nil {
		return ProvisionerGVK.GroupVersion().String(), ProvisionerKind
	}
	return p.Source.APIVersion, p.Source.Kind
}

// Labels of the nodes of a NodePool.
const (
	// LabelNodePool names the NodePool that owns a node.
	LabelNodePool = "karpenter.sh/nodepool"
	// LabelNodeClass names the EC2NodeClass of a node.
	LabelNodeClass = AWSDomain + "/ec2nodeclass"
	// LabelRegistered is "true" on nodes that Karpenter knows.
	LabelRegistered = "karpenter.sh/registered"
)

// Implied reports whether a label follows from what a node of a NodePool belongs to. Provisioner.Hash
// leaves it out, and a node without it has not drifted: earlier releases did not set it.
func Implied(key string) bool { return key == LabelNodeClass || key == LabelRegistered }

// NodePoolKind is the kind of Provisioners in later releases of Karpenter.
const NodePoolKind = "NodePool"

// Title is the kind and the name under which users know the Provisioner.
func (p *Provisioner) Title() string { return p.Source.kind(ProvisionerKind) + " " + p.Name }

// Title is the kind and the name under which users know the node profile.
func (t *AWSNodeTemplate) Title() string { return t.Source.kind(NodeTemplateKind) + " " + t.Name }

func (s *Origin) kind(own string) string {
	if s == nil {
		return own
	}
	return s.Kind
}

// ProvisionerSpec is the declared state of a Provisioner.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.consolidation) && has(self.consolidation.enabled) && self.consolidation.enabled && has(self.ttlSecondsAfterEmpty))",message="ttlSecondsAfterEmpty cannot be combined with consolidation.enabled: true, which removes empty nodes too"
// +kubebuilder:validation:XValidation:rule="!(has(self.provider) && has(self.providerRef))",message="providerRef cannot be combined with provider"
// +kubebuilder:validation:XValidation:rule="!has(self.taints) || !has(self.startupTaints) || self.startupTaints.all(s, !self.taints.exists(t, t.key == s.key && t.effect == s.effect))",message="taints and startupTaints hold the same key and effect"
type ProvisionerSpec struct {
	// Labels are put on every node. A well-known label is a requirement with one value.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="keys must have the syntax of labels",messageExpression="self.filter(k, !k.matches('^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))[0] + ' is not the key of a label'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|karpenter[.]sh|karpenter[.]k8s[.]aws)/') || k.matches('^([^/]*[.])?(node-restriction[.]kubernetes[.]io|kops[.]k8s[.]io|node[.]kubernetes[.]io)/') || k.matches('^(topology[.]kubernetes[.]io/(zone|region)|kubernetes[.]io/(arch|os)|karpenter[.]sh/capacity-type|beta[.]kubernetes[.]io/(arch|os|instance-type)|failure-domain[.]beta[.]kubernetes[.]io/(zone|region)|karpenter[.]k8s[.]aws/capacity-reservation-(id|type)|karpenter[.]k8s[.]aws/instance-(hypervisor|encryption-in-transit-supported|category|generation|family|size|cpu|cpu-manufacturer|memory|network-bandwidth|ebs-bandwidth|pods|local-nvme|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|ami-id))$'))",message="labels in reserved domains cannot be set",messageExpression="self.filter(k, !(!k.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|karpenter[.]sh|karpenter[.]k8s[.]aws)/') || k.matches('^([^/]*[.])?(node-restriction[.]kubernetes[.]io|kops[.]k8s[.]io|node[.]kubernetes[.]io)/') || k.matches('^(topology[.]kubernetes[.]io/(zone|region)|kubernetes[.]io/(arch|os)|karpenter[.]sh/capacity-type|beta[.]kubernetes[.]io/(arch|os|instance-type)|failure-domain[.]beta[.]kubernetes[.]io/(zone|region)|karpenter[.]k8s[.]aws/capacity-reservation-(id|type)|karpenter[.]k8s[.]aws/instance-(hypervisor|encryption-in-transit-supported|category|generation|family|size|cpu|cpu-manufacturer|memory|network-bandwidth|ebs-bandwidth|pods|local-nvme|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|ami-id))$')))[0] + ' is in a reserved domain and cannot be set'"
	// +kubebuilder:validation:XValidation:rule="!('karpenter.sh/capacity-type' in self) || self['karpenter.sh/capacity-type'] in ['spot', 'on-demand']",message="the label karpenter.sh/capacity-type must be spot or on-demand"
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are put on every node.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Taints are put on every node; pods must tolerate them.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(s, s.key == t.key && s.effect == t.effect))",message="the same key and effect occurs twice"
	// +listType=atomic
	Taints []corev1.Taint `json:"taints,omitempty"`
	// StartupTaints are put on new nodes, and another program is expected to remove them. Pods
	// need not tolerate them.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(t, self.exists_one(s, s.key == t.key && s.effect == t.effect))",message="the same key and effect occurs twice"
	// +listType=atomic
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`
	// Requirements constrain what may be bought.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	Requirements []Requirement `json:"requirements,omitempty"`
	// InstanceTypes is shorthand for a requirement instance-type In [...].
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=atomic
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// PodOverrides lists requirement keys for which a pod's own required
	// selector replaces this Provisioner's values.
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=316
	// +kubebuilder:validation:items:Pattern=`^(topology\.kubernetes\.io/(zone|region)|topology\.k8s\.aws/zone-id|topology\.ebs\.csi\.aws\.com/zone|kubernetes\.io/(arch|os)|node\.kubernetes\.io/(instance-type|windows-build)|karpenter\.sh/capacity-type|beta\.kubernetes\.io/(arch|os|instance-type)|failure-domain\.beta\.kubernetes\.io/(zone|region)|karpenter\.k8s\.aws/capacity-reservation-(id|type)|karpenter\.k8s\.aws/instance-(hypervisor|encryption-in-transit-supported|category|generation|family|size|cpu|cpu-manufacturer|memory|network-bandwidth|ebs-bandwidth|pods|local-nvme|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|ami-id))$`
	// +listType=atomic
	PodOverrides []string `json:"podOverrides,omitempty"`
	// KubeletConfiguration holds the kubelet settings of the nodes. Settings that are not given
	// are derived from the instance type.
	KubeletConfiguration *KubeletConfiguration `json:"kubeletConfiguration,omitempty"`
	// Limits bounds the total capacity of the nodes.
	Limits *Limits `json:"limits,omitempty"`
	// Consolidation lowers the cost by removing and replacing nodes: those that have been empty
	// for disruption.consolidateAfter, and those whose pods fit on fewer or cheaper nodes, if
	// the saving exceeds the cost of moving the pods.
	Consolidation *Consolidation `json:"consolidation,omitempty"`
	// TTLSecondsAfterEmpty is after how many seconds without workload pods a node is removed. 0
	// means immediately. Off by default.
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterEmpty *int64 `json:"ttlSecondsAfterEmpty,omitempty"`
	// TTLSecondsUntilExpired is the age in seconds at which a node is replaced. Off by default.
	// +kubebuilder:validation:Minimum=0
	TTLSecondsUntilExpired *int64 `json:"ttlSecondsUntilExpired,omitempty"`
	// Weight orders Provisioners: pods get machines from the one with the highest weight that
	// can take them. 0 by default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight *int32 `json:"weight,omitempty"`
	// Provider is an inline node profile. It cannot be combined with ProviderRef.
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// ProviderRef points to the node profile.
	ProviderRef *ProviderRef `json:"providerRef,omitempty"`
	// Disruption bounds how nodes are disrupted voluntarily.
	Disruption *Disruption `json:"disruption,omitempty"`
	// PodBinding says who binds pods to a launched node. Immediate by default.
	PodBinding PodBinding `json:"podBinding,omitempty"`
}

// Limits bounds the total capacity of a Provisioner's nodes.
type Limits struct {
	// Resources is the most that all nodes together may have of each resource. The resource
	// "nodes" limits their number.
	// +kubebuilder:validation:MaxProperties=100
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !string(self[k]).startsWith('-'))",message="limits must not be negative",messageExpression="'the limit of ' + self.filter(k, type(self[k]) == int ? self[k] < 0 : string(self[k]).startsWith('-'))[0] + ' must not be negative'"
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// Consolidation turns on removing and replacing nodes to lower the cost.
type Consolidation struct {
	// Enabled turns consolidation on. Off by default.
	Enabled *bool `json:"enabled,omitempty"`
}

// ProviderRef points to a node profile.
type ProviderRef struct {
	// +kubebuilder:validation:Enum=karpenter.k8s.aws/v1alpha1
	APIVersion string `json:"apiVersion,omitempty"`
	// +kubebuilder:validation:Enum=AWSNodeTemplate
	Kind string `json:"kind,omitempty"`
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// PodBinding says who binds pods to a launched node.
//
// +kubebuilder:validation:Enum=Immediate;Scheduler
type PodBinding string

// The values of PodBinding. The empty value means BindImmediate.
const (
	// BindImmediate: the agent creates the Node object and at once binds the pods that their owners replace.
	BindImmediate PodBinding = "Immediate"
	// BindScheduler: the agent creates the Node object and leaves the pods to kube-scheduler.
	BindScheduler PodBinding = "Scheduler"
)

// ProvisionerStatus is the observed state of a Provisioner.
type ProvisionerStatus struct {
	// Resources is the sum of the capacity of its nodes.
	Resources corev1.ResourceList `json:"resources,omitempty"`
	// Conditions include Ready, with the reason if it is not.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastScaleTime is when a node was last bought for it.
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`
	// ObservedGeneration is the generation of the spec that the status describes.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Nodes is the number of its nodes.
	Nodes int64 `json:"nodes,omitempty"`
}
