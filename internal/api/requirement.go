package api

import (
	"slices"
	"strconv"
)

// Requirement constrains one label of the nodes that may be bought.
//
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || (has(self.values) && size(self.values) > 0)",message="In needs at least one value; to allow any value use Exists",messageExpression="self.key + ': In needs at least one value; to allow any value use Exists'"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",message="Exists and DoesNotExist take no values",messageExpression="self.key + ': ' + self.operator + ' takes no values'"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(self.values) && size(self.values) == 1 && self.values[0].matches('^[0-9]{1,18}$'))",message="Gt, Lt, Gte and Lte take exactly one whole number that is not negative",messageExpression="self.key + ': ' + self.operator + ' takes exactly one whole number that is not negative'"
// +kubebuilder:validation:XValidation:rule="self.key != 'karpenter.sh/capacity-type' || self.operator != 'In' || !has(self.values) || size(self.values) == 0 || self.values.exists(v, v in ['spot', 'on-demand'])",message="karpenter.sh/capacity-type must be spot or on-demand"
// +kubebuilder:validation:XValidation:rule="self.operator != 'In' || !has(self.minValues) || (has(self.values) && size(self.values) >= self.minValues)",message="In needs at least minValues values",messageExpression="self.key + ': In needs at least minValues values'"
type Requirement struct {
	// Key of a label: a well-known one, or one of your own.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([^/]*[.])?(kubernetes[.]io|k8s[.]io|karpenter[.]sh|karpenter[.]k8s[.]aws)/') || self.matches('^([^/]*[.])?(node-restriction[.]kubernetes[.]io|kops[.]k8s[.]io|node[.]kubernetes[.]io)/') || self.matches('^(topology[.]kubernetes[.]io/(zone|region)|kubernetes[.]io/(arch|os)|karpenter[.]sh/capacity-type|beta[.]kubernetes[.]io/(arch|os|instance-type)|failure-domain[.]beta[.]kubernetes[.]io/(zone|region)|karpenter[.]k8s[.]aws/capacity-reservation-(id|type)|karpenter[.]k8s[.]aws/instance-(hypervisor|encryption-in-transit-supported|category|generation|family|size|cpu|cpu-manufacturer|memory|network-bandwidth|ebs-bandwidth|pods|local-nvme|gpu-name|gpu-manufacturer|gpu-count|gpu-memory|accelerator-name|accelerator-manufacturer|accelerator-count|ami-id))$')",message="the key is in a reserved domain",messageExpression="self + ' is in a reserved domain'"
	Key string `json:"key"`
	// Operator relates the label to the values.
	Operator Operator `json:"operator"`
	// Values that the operator takes.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	// +listType=atomic
	Values []string `json:"values,omitempty"`
	// MinValues is how many different values of the label the instance types of a launch
	// request must have at least, so that a launch does not depend on a few of them. 1 by
	// default.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	MinValues *int32 `json:"minValues,omitempty"`
}

// MinValue is how many different values of a label the instance types of a launch request
// must have at least.
//
// +kubebuilder:object:generate=false
type MinValue struct {
	Key   string
	Count int
}

// MaxMinValues is the largest MinValues of a requirement.
const MaxMinValues = 50

// Operator relates a label to a requirement's values.
//
// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt;Gte;Lte
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

// ParseBound reads what Gt, Lt, Gte and Lte take: a number that is not negative, in plain
// decimal digits.
func ParseBound(value string) (int64, bool) {
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil && !slices.Contains([]byte(value), '+') && n >= 0
}
