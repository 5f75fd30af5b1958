package api

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AWSNodeTemplate is a node profile: it says how nodes are built on AWS. It is the
// cluster-scoped resource karpenter.k8s.aws/v1alpha1.
//
// +kubebuilder:resource:path=awsnodetemplates,scope=Cluster,shortName=nodeprofile,categories=packhorse
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Family",type=string,JSONPath=`.spec.amiFamily`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type AWSNodeTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeProfile           `json:"spec,omitempty"`
	Status AWSNodeTemplateStatus `json:"status,omitempty"`

	// Source is the object that this one stands for; nil for one that is itself.
	Source *Origin `json:"-"`
}

// NodeProfile is the spec of an AWSNodeTemplate and the inline `provider` of a
// Provisioner.
//
// +kubebuilder:validation:XValidation:rule="!has(self.amiFamily) || self.amiFamily != 'Custom' || (has(self.amiSelector) && size(self.amiSelector) > 0)",message="amiFamily Custom needs an amiSelector"
// +kubebuilder:validation:XValidation:rule="!has(self.launchTemplate) || !(has(self.amiFamily) || has(self.userData) || has(self.metadataOptions) || has(self.instanceProfile) || (has(self.amiSelector) && size(self.amiSelector) > 0) || (has(self.securityGroupSelector) && size(self.securityGroupSelector) > 0) || (has(self.blockDeviceMappings) && size(self.blockDeviceMappings) > 0))",message="launchTemplate excludes amiFamily, amiSelector, userData, securityGroupSelector, metadataOptions, blockDeviceMappings and instanceProfile"
// +kubebuilder:validation:XValidation:rule="!has(self.instanceStorePolicy) || !has(self.amiFamily) || self.amiFamily in ['AL2', 'AL2023', 'Bottlerocket']",message="instanceStorePolicy needs amiFamily AL2, AL2023 or Bottlerocket"
// +kubebuilder:validation:XValidation:rule="!has(self.instanceStorePolicy) || !has(self.launchTemplate)",message="launchTemplate excludes instanceStorePolicy"
type NodeProfile struct {
	// SubnetSelector maps tag keys to values; a subnet must match all of them. A value may list
	// alternatives, separated by commas, and contain the wildcard *. An empty value or *
	// matches any value of the tag. The key aws::ids selects by id instead of by tag. By
	// default, subnets with the tag kubernetes.io/cluster/<cluster> are selected.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && (!k.startsWith('aws::') || k == 'aws::ids'))",message="keys must be those of tags, or aws::ids",messageExpression="self.filter(k, k == '' || (k.startsWith('aws::') && k != 'aws::ids')).map(k, k == '' ? 'an empty key' : k)[0] + ' is neither the key of a tag nor aws::ids'"
	// +kubebuilder:validation:XValidation:rule="['aws::ids', 'aws-ids'].all(k, !(k in self) || self[k].matches('^[ ,]*subnet-[0-9a-z]+([ ,]+subnet-[0-9a-z]+)*[ ,]*$'))",message="must be ids of subnets separated by commas",messageExpression="['aws::ids', 'aws-ids'].filter(k, k in self && !self[k].matches('^[ ,]*subnet-[0-9a-z]+([ ,]+subnet-[0-9a-z]+)*[ ,]*$'))[0] + ' must be ids of subnets separated by commas'"
	SubnetSelector map[string]string `json:"subnetSelector,omitempty"`
	// SecurityGroupSelector finds security groups as SubnetSelector finds subnets;
	// all that match are attached.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && (!k.startsWith('aws::') || k == 'aws::ids'))",message="keys must be those of tags, or aws::ids",messageExpression="self.filter(k, k == '' || (k.startsWith('aws::') && k != 'aws::ids')).map(k, k == '' ? 'an empty key' : k)[0] + ' is neither the key of a tag nor aws::ids'"
	// +kubebuilder:validation:XValidation:rule="['aws::ids', 'aws-ids'].all(k, !(k in self) || self[k].matches('^[ ,]*sg-[0-9a-z]+([ ,]+sg-[0-9a-z]+)*[ ,]*$'))",message="must be ids of security groups separated by commas",messageExpression="['aws::ids', 'aws-ids'].filter(k, k in self && !self[k].matches('^[ ,]*sg-[0-9a-z]+([ ,]+sg-[0-9a-z]+)*[ ,]*$'))[0] + ' must be ids of security groups separated by commas'"
	SecurityGroupSelector map[string]string `json:"securityGroupSelector,omitempty"`
	// InstanceProfile is the name of an IAM instance profile. By default that of the agent's
	// option default-instance-profile.
	// +kubebuilder:validation:MinLength=1
	InstanceProfile *string `json:"instanceProfile,omitempty"`
	// LaunchTemplate is the name of a launch template of your own. By default one is generated.
	// +kubebuilder:validation:MinLength=1
	LaunchTemplate *string `json:"launchTemplate,omitempty"`
	// AMIFamily determines the image and the form of user data. By default AL2023 for
	// Kubernetes 1.30 and later, else AL2.
	// +kubebuilder:validation:Enum=AL2;AL2023;Bottlerocket;Ubuntu;Windows2019;Windows2022;Custom
	AMIFamily *string `json:"amiFamily,omitempty"`
	// AMISelector finds images by tags, aws::ids, aws::name and aws::owners. By default the
	// family's current image is used.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '' && (!k.startsWith('aws::') || k in ['aws::ids', 'aws::name', 'aws::owners']))",message="keys must be those of tags, or aws::ids, aws::name or aws::owners",messageExpression="self.filter(k, k == '' || (k.startsWith('aws::') && !(k in ['aws::ids', 'aws::name', 'aws::owners']))).map(k, k == '' ? 'an empty key' : k)[0] + ' is neither the key of a tag nor aws::ids, aws::name or aws::owners'"
	// +kubebuilder:validation:XValidation:rule="['aws::ids', 'aws-ids'].all(k, !(k in self) || self[k].matches('^[ ,]*ami-[0-9a-z]+([ ,]+ami-[0-9a-z]+)*[ ,]*$'))",message="must be ids of images separated by commas",messageExpression="['aws::ids', 'aws-ids'].filter(k, k in self && !self[k].matches('^[ ,]*ami-[0-9a-z]+([ ,]+ami-[0-9a-z]+)*[ ,]*$'))[0] + ' must be ids of images separated by commas'"
	AMISelector map[string]string `json:"amiSelector,omitempty"`
	// UserData is merged with what the family needs. With Custom, it is used as it is.
	// +kubebuilder:validation:MaxLength=16384
	UserData *string `json:"userData,omitempty"`
	// Tags are put on instances, volumes, network interfaces, launch templates and fleets. At
	// most 43 are allowed beside Name, less the tags of the agent's option tag.
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != '')",message="a tag needs a key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['karpenter.sh/provisioner-name', 'karpenter.sh/managed-by', 'packhorse.io/launch-id']) && !k.startsWith('kubernetes.io/cluster/') && !k.matches('^[aA][wW][sS]:'))",message="the tag is reserved",messageExpression="self.filter(k, k in ['karpenter.sh/provisioner-name', 'karpenter.sh/managed-by', 'packhorse.io/launch-id'] || k.startsWith('kubernetes.io/cluster/') || k.matches('^[aA][wW][sS]:'))[0] + ' is a reserved tag'"
	Tags map[string]string `json:"tags,omitempty"`
	// MetadataOptions configures the instance metadata service.
	MetadataOptions *MetadataOptions `json:"metadataOptions,omitempty"`
	// BlockDeviceMappings lists the volumes. By default one encrypted gp3 root volume of 20 GiB
	// (Bottlerocket: 4 GiB, and 20 GiB for data; Windows: 50 GiB).
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(m, !has(m.deviceName) || self.exists_one(n, has(n.deviceName) && n.deviceName == m.deviceName))",message="a device name occurs twice"
	// +kubebuilder:validation:XValidation:rule="self.filter(m, has(m.rootVolume) && m.rootVolume).size() <= 1",message="a machine has one root volume"
	// +listType=atomic
	BlockDeviceMappings []BlockDeviceMapping `json:"blockDeviceMappings,omitempty"`
	// InstanceStorePolicy says what local NVMe disks are used for. RAID0 joins them to one
	// volume for containers and the ephemeral storage of pods. By default the disks are not
	// used.
	// +kubebuilder:validation:Enum=RAID0
	InstanceStorePolicy *string `json:"instanceStorePolicy,omitempty"`
	// DetailedMonitoring turns on detailed CloudWatch monitoring.
	DetailedMonitoring *bool `json:"detailedMonitoring,omitempty"`

	// Class is what the EC2NodeClass says beyond these fields that the profile stands for.
	Class *ClassTerms `json:"-"`
}

// ClassTerms are what an EC2NodeClass can say and an AWSNodeTemplate cannot.
type ClassTerms struct {
	// Subnets, SecurityGroups and Images are selectors, any of which may find something.
	// They take the place of the profile's own.
	Subnets, SecurityGroups, Images []map[string]string
	// ImageVersion is the release of the family's image; empty for the current one.
	ImageVersion string
	// PublicAddress says whether machines get a public address; nil leaves it to the subnet.
	PublicAddress *bool
	// Role is that of the machines. The profile's own instance profile is what Karpenter has noted for
	// it, and may be that of an earlier role.
	Role string
	// Reservations are selectors of capacity reservations, any of which may find some. An
	// on-demand machine of a class with such selectors is launched into no reservation.
	Reservations []map[string]string
}

// Keys of selectors of ClassTerms, besides those of a node profile's selectors.
const (
	// SelectorGroupName finds security groups by their name, which is no tag.
	SelectorGroupName = "aws::group-name"
	// SelectorParameter finds an image by the SSM parameter that holds its id.
	SelectorParameter = "aws::ssm-parameter"
	// SelectorReservationOwner and SelectorReservationMatch find capacity reservations by
	// the account that owns them, and by whether they are open or targeted.
	SelectorReservationOwner = "aws::owner-id"
	SelectorReservationMatch = "aws::instance-match-criteria"
)

// SubnetSelectors are selectors of subnets, any of which may match.
func (s *NodeProfile) SubnetSelectors() []map[string]string {
	if s.Class != nil && len(s.Class.Subnets) > 0 {
		return s.Class.Subnets
	}
	return []map[string]string{s.SubnetSelector}
}

// SecurityGroupSelectors are selectors of security groups, any of which may match.
func (s *NodeProfile) SecurityGroupSelectors() []map[string]string {
	if s.Class != nil && len(s.Class.SecurityGroups) > 0 {
		return s.Class.SecurityGroups
	}
	return []map[string]string{s.SecurityGroupSelector}
}

// ImageSelectors are selectors of images, any of which may match. Without any, the image
// is the one of the family.
func (s *NodeProfile) ImageSelectors() []map[string]string {
	switch {
	case s.Class != nil && len(s.Class.Images) > 0:
		return s.Class.Images
	case len(s.AMISelector) > 0:
		return []map[string]string{s.AMISelector}
	}
	return nil
}

// ImageVersion is the release of the family's image; empty for the current one.
func (s *NodeProfile) ImageVersion() string {
	if s.Class == nil {
		return ""
	}
	return s.Class.ImageVersion
}

// PublicAddress says whether machines get a public address; nil leaves it to the subnet.
func (s *NodeProfile) PublicAddress() *bool {
	if s.Class == nil {
		return nil
	}
	return s.Class.PublicAddress
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

// AMIFamilies lists them.
var AMIFamilies = []string{FamilyAL2, FamilyAL2023, FamilyBottlerocket, FamilyUbuntu, FamilyWindows2019, FamilyWindows2022, FamilyCustom}

// InstanceStoreRAID0 is the value of InstanceStorePolicy.
const InstanceStoreRAID0 = "RAID0"

// JoinsLocalDisks reports whether pods' ephemeral storage lies on the local disks
// of machines that have any.
func (s *NodeProfile) JoinsLocalDisks() bool {
	return s.InstanceStorePolicy != nil && *s.InstanceStorePolicy == InstanceStoreRAID0
}

// MetadataOptions configures the instance metadata service.
type MetadataOptions struct {
	// HTTPEndpoint is enabled by default.
	// +kubebuilder:validation:Enum=enabled;disabled
	HTTPEndpoint *string `json:"httpEndpoint,omitempty"`
	// HTTPProtocolIPv6 is disabled by default.
	// +kubebuilder:validation:Enum=enabled;disabled
	HTTPProtocolIPv6 *string `json:"httpProtocolIPv6,omitempty"`
	// HTTPPutResponseHopLimit is the maximum number of network hops of a response. 2 by
	// default, so that pods can reach the service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	HTTPPutResponseHopLimit *int64 `json:"httpPutResponseHopLimit,omitempty"`
	// HTTPTokens is required by default, which only allows version 2 of the service.
	// +kubebuilder:validation:Enum=required;optional
	HTTPTokens *string `json:"httpTokens,omitempty"`
}

// BlockDeviceMapping is one volume of a machine.
//
// +kubebuilder:validation:XValidation:rule="has(self.deviceName) && size(self.deviceName) > 0",message="deviceName is required, such as /dev/xvda"
// +kubebuilder:validation:XValidation:rule="has(self.ebs)",message="ebs is required"
// +kubebuilder:validation:XValidation:rule="!has(self.rootVolume) || !self.rootVolume || !has(self.ebs) || !has(self.ebs.volumeType) || !(self.ebs.volumeType in ['st1', 'sc1'])",message="a machine cannot boot from st1 or sc1"
type BlockDeviceMapping struct {
	// DeviceName is required, such as /dev/xvda.
	// +kubebuilder:validation:MaxLength=128
	DeviceName *string `json:"deviceName,omitempty"`
	// RootVolume marks the volume that the machine boots from.
	RootVolume *bool `json:"rootVolume,omitempty"`
	// EBS describes the volume. It is required.
	EBS *BlockDevice `json:"ebs,omitempty"`
}

// BlockDevice is an EBS volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.volumeSize) || has(self.snapshotID)",message="a volume needs a volumeSize or a snapshotID"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeSize) || [quantity(string(self.volumeSize))].all(q, !has(self.volumeType) || self.volumeType == 'gp3' ? !q.isLessThan(quantity('1G')) && !q.isGreaterThan(quantity('64Ti')) : self.volumeType == 'io2' ? q.isGreaterThan(quantity('3Gi')) && !q.isGreaterThan(quantity('64Ti')) : self.volumeType == 'io1' ? q.isGreaterThan(quantity('3Gi')) && !q.isGreaterThan(quantity('16Ti')) : self.volumeType == 'standard' ? !q.isLessThan(quantity('1G')) && !q.isGreaterThan(quantity('1Ti')) : self.volumeType == 'gp2' ? !q.isLessThan(quantity('1G')) && !q.isGreaterThan(quantity('16Ti')) : q.isGreaterThan(quantity('124Gi')) && !q.isGreaterThan(quantity('16Ti')))",message="the volume type does not come in this size; a number without a unit, such as 100, is bytes: write 100Gi"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.volumeType) || self.volumeType in ['gp3', 'io1', 'io2']",message="iops can be set on gp3, io1 and io2 only"
// +kubebuilder:validation:XValidation:rule="has(self.iops) || !has(self.volumeType) || !(self.volumeType in ['io1', 'io2'])",message="io1 and io2 need iops"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || !has(self.volumeType) || self.volumeType == 'gp3'",message="throughput can be set on gp3 only"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || self.throughput * 4 <= (has(self.iops) ? self.iops : 3000)",message="throughput takes 4 iops for each MiB/s, and iops are 3000 by default"
type BlockDevice struct {
	// VolumeSize is rounded up to whole GiB. A number without a unit is in bytes. By default
	// the size of the snapshot.
	VolumeSize *resource.Quantity `json:"volumeSize,omitempty"`
	// VolumeType is gp3 by default.
	// +kubebuilder:validation:Enum=gp2;gp3;io1;io2;sc1;st1;standard
	VolumeType *string `json:"volumeType,omitempty"`
	// IOPS of gp3, io1 and io2 volumes.
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS *int64 `json:"iops,omitempty"`
	// Throughput of gp3 volumes in MiB/s.
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	Throughput *int64 `json:"throughput,omitempty"`
	// Encrypted is on by default. Encrypted volumes use KMSKeyID, or the account's default key.
	Encrypted *bool `json:"encrypted,omitempty"`
	// KMSKeyID is the ARN or id of a KMS key. For a key of your own, the agent's role needs
	// kms:CreateGrant, kms:Decrypt, kms:DescribeKey, kms:GenerateDataKeyWithoutPlaintext and
	// kms:ReEncrypt*.
	KMSKeyID *string `json:"kmsKeyID,omitempty"`
	// SnapshotID is the snapshot that the volume starts from.
	// +kubebuilder:validation:MinLength=1
	SnapshotID *string `json:"snapshotID,omitempty"`
	// DeleteOnTermination removes the volume with its machine. On by default.
	DeleteOnTermination *bool `json:"deleteOnTermination,omitempty"`
}

// AWSNodeTemplateStatus is what a node profile's selectors resolved to.
type AWSNodeTemplateStatus struct {
	// +listType=atomic
	Subnets []SubnetStatus `json:"subnets,omitempty"`
	// +listType=atomic
	SecurityGroups []SecurityGroupStatus `json:"securityGroups,omitempty"`
	// +listType=atomic
	AMIs []AMIStatus `json:"amis,omitempty"`
	// Conditions include Ready, with the reason if it is not.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Reservations are the capacity reservations of an EC2NodeClass.
	Reservations []ReservationStatus `json:"-"`
}

// ReservationStatus is a capacity reservation that an EC2NodeClass selects.
type ReservationStatus struct {
	ID            string      `json:"id"`
	Zone          string      `json:"availabilityZone"`
	InstanceType  string      `json:"instanceType"`
	OwnerID       string      `json:"ownerID"`
	MatchCriteria string      `json:"instanceMatchCriteria"` // open or targeted
	Type          string      `json:"reservationType"`       // default or capacity-block
	State         string      `json:"state"`                 // active or expiring
	Interruptible bool        `json:"interruptible"`         // it is given back when its owner wants it
	End           metav1.Time `json:"endTime,omitzero"`
	Left          int64       `json:"-"` // machines that may still be launched into it
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

// AMIStatus is an image and the labels of the machines that it is for.
type AMIStatus struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	Requirements []Requirement `json:"requirements,omitempty"`
	// Deprecated says that AWS marks the image as one that should not be used any more. Only the status of an EC2NodeClass has it.
	Deprecated bool `json:"-"`
}

// Keys of selectors that do not name a tag.
const (
	SelectorIDs       = "aws::ids"
	SelectorIDsLegacy = "aws-ids"
	SelectorAMIName   = "aws::name"
	SelectorAMIOwners = "aws::owners"
)

// SplitList returns what stands between the commas of the value of a selector or annotation, without surrounding
// space and empty ones.
func SplitList(value string) []string {
	var out []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
