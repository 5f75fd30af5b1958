package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Provisioner declares which nodes may be bought for pods that have none, and
// when they go. It is the cluster-scoped resource karpenter.sh/v1alpha5.
//
// +kubebuilder:object:root=true
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ProvisionerSpec   `json:"spec,omitempty"`
	Status ProvisionerStatus `json:"status,omitempty"`
}

// ProvisionerSpec is the declared state of a Provisioner.
type ProvisionerSpec struct {
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []corev1.Taint    `json:"taints,omitempty"`
	StartupTaints []corev1.Taint    `json:"startupTaints,omitempty"`
	Requirements  []Requirement     `json:"requirements,omitempty"`
	// InstanceTypes is shorthand for a requirement instance-type In [...].
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// PodOverrides lists requirement keys for which a pod's own required
	// selector replaces this Provisioner's values.
	PodOverrides           []string              `json:"podOverrides,omitempty"`
	KubeletConfiguration   *KubeletConfiguration `json:"kubeletConfiguration,omitempty"`
	Limits                 *Limits               `json:"limits,omitempty"`
	Consolidation          *Consolidation        `json:"consolidation,omitempty"`
	TTLSecondsAfterEmpty   *int64                `json:"ttlSecondsAfterEmpty,omitempty"`
	TTLSecondsUntilExpired *int64                `json:"ttlSecondsUntilExpired,omitempty"`
	Weight                 *int32                `json:"weight,omitempty"`
	// Provider is an inline node profile, excluded by ProviderRef.
	Provider    *runtime.RawExtension `json:"provider,omitempty"`
	ProviderRef *ProviderRef          `json:"providerRef,omitempty"`
	Disruption  *Disruption           `json:"disruption,omitempty"`
	PodBinding  PodBinding            `json:"podBinding,omitempty"`
}

// Requirement constrains one label of the nodes that may be bought.
type Requirement struct {
	Key      string   `json:"key"`
	Operator Operator `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// Operator relates a label to a requirement's values.
type Operator string

// The operators of a Requirement.
const (
	OpIn           Operator = "In"
	OpNotIn        Operator = "NotIn"
	OpExists       Operator = "Exists"
	OpDoesNotExist Operator = "DoesNotExist"
	OpGt           Operator = "Gt"
	OpLt           Operator = "Lt"
	OpGte          Operator = "Gte"
	OpLte          Operator = "Lte"
)

// KubeletConfiguration holds the kubelet settings of a Provisioner's nodes.
type KubeletConfiguration struct {
	ClusterDNS                  []string                   `json:"clusterDNS,omitempty"`
	ContainerRuntime            *string                    `json:"containerRuntime,omitempty"`
	SystemReserved              corev1.ResourceList        `json:"systemReserved,omitempty"`
	KubeReserved                corev1.ResourceList        `json:"kubeReserved,omitempty"`
	EvictionHard                map[string]string          `json:"evictionHard,omitempty"`
	EvictionSoft                map[string]string          `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod     map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod   *int32                     `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThresholdPercent *int32                     `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThresholdPercent  *int32                     `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota                 *bool                      `json:"cpuCFSQuota,omitempty"`
	PodsPerCore                 *int32                     `json:"podsPerCore,omitempty"`
	MaxPods                     *int32                     `json:"maxPods,omitempty"`
}

// Limits bounds the total capacity of a Provisioner's nodes.
type Limits struct {
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// Consolidation turns on removing and replacing nodes to lower the cost.
type Consolidation struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// ProviderRef points to a node profile.
type ProviderRef struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Name       string `json:"name"`
}

// PodBinding says who binds pods to a launched node.
type PodBinding string

// The values of PodBinding. The empty value means BindImmediate.
const (
	// BindImmediate: the agent creates the Node object and binds the pods at once.
	BindImmediate PodBinding = "Immediate"
	// BindScheduler: the agent creates the Node object and leaves the pods to kube-scheduler.
	BindScheduler PodBinding = "Scheduler"
)

// Disruption bounds how nodes are taken away voluntarily.
type Disruption struct {
	Budgets                []Budget         `json:"budgets,omitempty"`
	ConsolidateAfter       *metav1.Duration `json:"consolidateAfter,omitempty"`
	TerminationGracePeriod *metav1.Duration `json:"terminationGracePeriod,omitempty"`
	// Drift is on unless set to false.
	Drift *bool `json:"drift,omitempty"`
}

// Budget bounds how many nodes may be taken away at the same time.
type Budget struct {
	// Nodes is a number or a percentage such as "10%".
	Nodes string `json:"nodes"`
	// Schedule is a cron expression in UTC; the budget holds for Duration from each match.
	Schedule *string          `json:"schedule,omitempty"`
	Duration *metav1.Duration `json:"duration,omitempty"`
	// Reasons the budget holds for; empty means all.
	Reasons []string `json:"reasons,omitempty"`
}

// ProvisionerStatus is the observed state of a Provisioner.
type ProvisionerStatus struct {
	// Resources is the sum of the capacity of its nodes.
	Resources          corev1.ResourceList `json:"resources,omitempty"`
	Conditions         []metav1.Condition  `json:"conditions,omitempty"`
	LastScaleTime      *metav1.Time        `json:"lastScaleTime,omitempty"`
	ObservedGeneration int64               `json:"observedGeneration,omitempty"`
	Nodes              int64               `json:"nodes,omitempty"`
}

// ProvisionerList is a list of Provisioners.
//
// +kubebuilder:object:root=true
type ProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Provisioner `json:"items"`
}
