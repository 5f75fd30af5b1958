package karpenter

import "github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"

// provisionerSpec is the spec of a Provisioner that a NodePool becomes. What the two spell
// alike is written as the NodePool has it: 1000 stays 1000, and 8h does not become 8h0m0s.
type provisionerSpec struct {
	Labels                 map[string]string       `json:"labels,omitempty"`
	Annotations            map[string]string       `json:"annotations,omitempty"`
	Taints                 []kinds.PoolTaint       `json:"taints,omitempty"`
	StartupTaints          []kinds.PoolTaint       `json:"startupTaints,omitempty"`
	Requirements           []kinds.PoolRequirement `json:"requirements,omitempty"`
	KubeletConfiguration   *kinds.Kubelet          `json:"kubeletConfiguration,omitempty"`
	Limits                 map[string]any          `json:"limits,omitempty"`
	Consolidation          map[string]bool         `json:"consolidation,omitempty"`
	TTLSecondsAfterEmpty   *int64                  `json:"ttlSecondsAfterEmpty,omitempty"`
	TTLSecondsUntilExpired *int64                  `json:"ttlSecondsUntilExpired,omitempty"`
	Weight                 *int32                  `json:"weight,omitempty"`
	ProviderRef            map[string]string       `json:"providerRef,omitempty"`
	Disruption             disruption              `json:"disruption,omitzero"`
}

type disruption struct {
	ConsolidateAfter       string             `json:"consolidateAfter,omitempty"`
	Budgets                []kinds.PoolBudget `json:"budgets,omitempty"`
	TerminationGracePeriod *string            `json:"terminationGracePeriod,omitempty"`
}

// profileSpec is the spec of a node profile that an EC2NodeClass becomes.
type profileSpec struct {
	SubnetSelector        map[string]string `json:"subnetSelector,omitempty"`
	SecurityGroupSelector map[string]string `json:"securityGroupSelector,omitempty"`
	InstanceProfile       string            `json:"instanceProfile,omitempty"`
	AMIFamily             string            `json:"amiFamily,omitempty"`
	AMISelector           map[string]string `json:"amiSelector,omitempty"`
	UserData              *string           `json:"userData,omitempty"`
	Tags                  map[string]string `json:"tags,omitempty"`
	MetadataOptions       kinds.Metadata    `json:"metadataOptions,omitzero"`
	BlockDeviceMappings   []kinds.Volume    `json:"blockDeviceMappings,omitempty"`
	InstanceStorePolicy   *string           `json:"instanceStorePolicy,omitempty"`
	DetailedMonitoring    *bool             `json:"detailedMonitoring,omitempty"`
}
