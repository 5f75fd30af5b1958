package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeletConfiguration holds the kubelet settings of a Provisioner's nodes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.imageGCHighThresholdPercent) || !has(self.imageGCLowThresholdPercent) || self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent",message="imageGCHighThresholdPercent must be above imageGCLowThresholdPercent"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoft) || self.evictionSoft.all(k, has(self.evictionSoftGracePeriod) && k in self.evictionSoftGracePeriod)",message="every signal of evictionSoft needs an evictionSoftGracePeriod",messageExpression="'evictionSoft ' + self.evictionSoft.filter(k, !has(self.evictionSoftGracePeriod) || !(k in self.evictionSoftGracePeriod))[0] + ' needs an evictionSoftGracePeriod'"
// +kubebuilder:validation:XValidation:rule="!has(self.evictionSoftGracePeriod) || self.evictionSoftGracePeriod.all(k, has(self.evictionSoft) && k in self.evictionSoft)",message="every signal of evictionSoftGracePeriod needs an evictionSoft",messageExpression="'evictionSoftGracePeriod ' + self.evictionSoftGracePeriod.filter(k, !has(self.evictionSoft) || !(k in self.evictionSoft))[0] + ' needs an evictionSoft'"
type KubeletConfiguration struct {
	// ClusterDNS lists the addresses of the cluster's DNS servers.
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:XValidation:rule="self.all(a, a.matches('^[0-9.]+$|^[0-9a-fA-F.]*:[0-9a-fA-F:.]*$'))",message="must be IP addresses"
	// +listType=atomic
	ClusterDNS []string `json:"clusterDNS,omitempty"`
	// ContainerRuntime is kept for older manifests. Nodes always use containerd.
	// +kubebuilder:validation:Enum=containerd;dockerd
	ContainerRuntime *string `json:"containerRuntime,omitempty"`
	// SystemReserved is set aside for the operating system.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="only cpu, memory, ephemeral-storage and pid can be reserved",messageExpression="self.filter(k, !(k in ['cpu', 'memory', 'ephemeral-storage', 'pid']))[0] + ' cannot be reserved: only cpu, memory, ephemeral-storage and pid can'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !string(self[k]).startsWith('-'))",message="must not be negative",messageExpression="self.filter(k, type(self[k]) == int ? self[k] < 0 : string(self[k]).startsWith('-'))[0] + ' must not be negative'"
	SystemReserved corev1.ResourceList `json:"systemReserved,omitempty"`
	// KubeReserved is set aside for the kubelet and the container runtime.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory', 'ephemeral-storage', 'pid'])",message="only cpu, memory, ephemeral-storage and pid can be reserved",messageExpression="self.filter(k, !(k in ['cpu', 'memory', 'ephemeral-storage', 'pid']))[0] + ' cannot be reserved: only cpu, memory, ephemeral-storage and pid can'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, type(self[k]) == int ? self[k] >= 0 : !string(self[k]).startsWith('-'))",message="must not be negative",messageExpression="self.filter(k, type(self[k]) == int ? self[k] < 0 : string(self[k]).startsWith('-'))[0] + ' must not be negative'"
	KubeReserved corev1.ResourceList `json:"kubeReserved,omitempty"`
	// EvictionHard maps signals to thresholds (quantities or percentages) at which pods are
	// evicted immediately.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="unknown eviction signal",messageExpression="self.filter(k, !(k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available']))[0] + ' is not an eviction signal'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].endsWith('%') ? self[k].matches('^(100([.]0*)?|[0-9]{1,2}([.][0-9]*)?)%$') : isQuantity(self[k]) && !quantity(self[k]).isLessThan(quantity('0')))",message="thresholds must be quantities that are not negative or percentages from 0% to 100%",messageExpression="self.filter(k, !(self[k].endsWith('%') ? self[k].matches('^(100([.]0*)?|[0-9]{1,2}([.][0-9]*)?)%$') : isQuantity(self[k]) && !quantity(self[k]).isLessThan(quantity('0'))))[0] + ' must be a quantity that is not negative or a percentage from 0% to 100%'"
	EvictionHard map[string]string `json:"evictionHard,omitempty"`
	// EvictionSoft maps signals to thresholds at which pods are evicted after a
	// grace period.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'])",message="unknown eviction signal",messageExpression="self.filter(k, !(k in ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available']))[0] + ' is not an eviction signal'"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].endsWith('%') ? self[k].matches('^(100([.]0*)?|[0-9]{1,2}([.][0-9]*)?)%$') : isQuantity(self[k]) && !quantity(self[k]).isLessThan(quantity('0')))",message="thresholds must be quantities that are not negative or percentages from 0% to 100%",messageExpression="self.filter(k, !(self[k].endsWith('%') ? self[k].matches('^(100([.]0*)?|[0-9]{1,2}([.][0-9]*)?)%$') : isQuantity(self[k]) && !quantity(self[k]).isLessThan(quantity('0'))))[0] + ' must be a quantity that is not negative or a percentage from 0% to 100%'"
	EvictionSoft map[string]string `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod maps the signals of EvictionSoft to durations.
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$'))",message="grace periods must be durations such as 1m30s",messageExpression="self.filter(k, !self[k].matches('^([0-9]+([.][0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$'))[0] + ' must be a duration such as 1m30s'"
	EvictionSoftGracePeriod map[string]metav1.Duration `json:"evictionSoftGracePeriod,omitempty"`
	// EvictionMaxPodGracePeriod bounds the pods' own grace period in a soft
	// eviction, in seconds.
	// +kubebuilder:validation:Minimum=0
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// ImageGCHighThresholdPercent is the disk usage above which unused images are always
	// removed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// ImageGCLowThresholdPercent is the disk usage down to which unused images are removed.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// CPUCFSQuota enforces the CPU limits of containers by CFS quota. On by default.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
	// PodsPerCore bounds the pods of a node by its cores; 0 means no bound.
	// +kubebuilder:validation:Minimum=0
	PodsPerCore *int32 `json:"podsPerCore,omitempty"`
	// MaxPods bounds the pods of a node.
	// +kubebuilder:validation:Minimum=0
	MaxPods *int32 `json:"maxPods,omitempty"`
}
