package api

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSNodeTemplate is a node profile: what a machine is built from on AWS. It is
// the cluster-scoped resource karpenter.k8s.aws/v1alpha1.
//
// +kubebuilder:object:root=true
type AWSNodeTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeProfile           `json:"spec,omitempty"`
	Status AWSNodeTemplateStatus `json:"status,omitempty"`
}

// NodeProfile is the spec of an AWSNodeTemplate and the inline `provider` of a
// Provisioner.
type NodeProfile struct {
	SubnetSelector        map[string]string    `json:"subnetSelector,omitempty"`
	SecurityGroupSelector map[string]string    `json:"securityGroupSelector,omitempty"`
	InstanceProfile       *string              `json:"instanceProfile,omitempty"`
	LaunchTemplate        *string              `json:"launchTemplate,omitempty"`
	AMIFamily             *string              `json:"amiFamily,omitempty"`
	AMISelector           map[string]string    `json:"amiSelector,omitempty"`
	UserData              *string              `json:"userData,omitempty"`
	Tags                  map[string]string    `json:"tags,omitempty"`
	MetadataOptions       *MetadataOptions     `json:"metadataOptions,omitempty"`
	BlockDeviceMappings   []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	DetailedMonitoring    *bool                `json:"detailedMonitoring,omitempty"`
}

// The AMI families.
const (
	FamilyAL2          = "AL2"
	FamilyAL2023       = "AL2023"
	FamilyBottlerocket = "Bottlerocket"
	FamilyUbuntu       = "Ubuntu"
	FamilyWindows2019  = "Windows2019"
	FamilyWindows2022  = "Windows2022"
	FamilyCustom       = "Custom"
)

// MetadataOptions configures the instance metadata service.
type MetadataOptions struct {
	HTTPEndpoint            *string `json:"httpEndpoint,omitempty"`
	HTTPProtocolIPv6        *string `json:"httpProtocolIPv6,omitempty"`
	HTTPPutResponseHopLimit *int64  `json:"httpPutResponseHopLimit,omitempty"`
	HTTPTokens              *string `json:"httpTokens,omitempty"`
}

// BlockDeviceMapping is one volume of a machine.
type BlockDeviceMapping struct {
	DeviceName *string      `json:"deviceName,omitempty"`
	RootVolume *bool        `json:"rootVolume,omitempty"`
	EBS        *BlockDevice `json:"ebs,omitempty"`
}

// BlockDevice is an EBS volume.
type BlockDevice struct {
	VolumeSize          *resource.Quantity `json:"volumeSize,omitempty"`
	VolumeType          *string            `json:"volumeType,omitempty"`
	IOPS                *int64             `json:"iops,omitempty"`
	Throughput          *int64             `json:"throughput,omitempty"`
	Encrypted           *bool              `json:"encrypted,omitempty"`
	KMSKeyID            *string            `json:"kmsKeyID,omitempty"`
	SnapshotID          *string            `json:"snapshotID,omitempty"`
	DeleteOnTermination *bool              `json:"deleteOnTermination,omitempty"`
}

// AWSNodeTemplateStatus is what a node profile's selectors resolved to.
type AWSNodeTemplateStatus struct {
	Subnets        []SubnetStatus        `json:"subnets,omitempty"`
	SecurityGroups []SecurityGroupStatus `json:"securityGroups,omitempty"`
	AMIs           []AMIStatus           `json:"amis,omitempty"`
	Conditions     []metav1.Condition    `json:"conditions,omitempty"`
}

// SubnetStatus is a subnet that machines may be launched into.
type SubnetStatus struct {
	ID            string `json:"id"`
	Zone          string `json:"zone"`
	FreeAddresses int64  `json:"freeAddresses"`
}

// SecurityGroupStatus is a security group that machines get.
type SecurityGroupStatus struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// AMIStatus is an image and the instance types that it is for.
type AMIStatus struct {
	ID           string        `json:"id"`
	Name         string        `json:"name,omitempty"`
	Requirements []Requirement `json:"requirements,omitempty"`
}

// AWSNodeTemplateList is a list of node profiles.
//
// +kubebuilder:object:root=true
type AWSNodeTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AWSNodeTemplate `json:"items"`
}
