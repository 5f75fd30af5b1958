package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Lengths of strings whose Go types carry no markers of ours.
const (
	maxLabelKey   = 316  // a DNS subdomain of 253, a slash and a name of 63
	maxLabelValue = 63   // of labels and taints
	maxMapValue   = 2048 // selectors hold lists of ids
	maxQuantity   = 64
)

// labelValue is the form of the values of labels and taints.
const labelValue = `^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`

// boundedMaps are the maps of strings that CEL rules look into.
var boundedMaps = map[string]int64{
	"labels":                  maxLabelValue,
	"evictionHard":            maxQuantity,
	"evictionSoft":            maxQuantity,
	"evictionSoftGracePeriod": maxQuantity,
	"subnetSelector":          maxMapValue,
	"securityGroupSelector":   maxMapValue,
	"amiSelector":             maxMapValue,
	"tags":                    256, // EC2's limit
}

// taintEffects are the values of corev1.TaintEffect.
var taintEffects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

// bound adds limits below a schema.
func bound(s *apiextensionsv1.JSONSchemaProps) {
	for name, property := range s.Properties {
		switch name {
		case "status":
			dropRules(&property)
			bound(&property)
		case "taints", "startupTaints":
			boundTaint(property.Items.Schema)
		default:
			if limit, ok := boundedMaps[name]; ok {
				property.AdditionalProperties.Schema.MaxLength = &limit
			}
			if name == "labels" {
				property.AdditionalProperties.Schema.Pattern = labelValue
			}
			bound(&property)
		}
		s.Properties[name] = property
	}
	if s.Items != nil {
		bound(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		bound(s.AdditionalProperties.Schema)
	}
	if s.XIntOrString {
		boundIntOrString(s)
	}
}

// dropRules removes the CEL rules of types that the status shares with the spec.
// Only the agent writes it, and its lists have no bounds.
func dropRules(s *apiextensionsv1.JSONSchemaProps) {
	s.XValidations = nil
	for name, property := range s.Properties {
		dropRules(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		dropRules(s.Items.Schema)
	}
}

// boundIntOrString bounds quantities, and removes the type that a Go string
// brings, which an int-or-string may not have.
func boundIntOrString(s *apiextensionsv1.JSONSchemaProps) {
	s.Type = ""
	if s.MaxLength == nil {
		limit := int64(maxQuantity)
		s.MaxLength = &limit
	}
}

func boundTaint(s *apiextensionsv1.JSONSchemaProps) {
	limit := func(name string, length int64, pattern string) {
		property := s.Properties[name]
		property.MaxLength, property.Pattern = &length, pattern
		s.Properties[name] = property
	}
	limit("key", maxLabelKey, `^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	limit("value", maxLabelValue, labelValue)
	effect := s.Properties["effect"]
	for _, value := range taintEffects {
		effect.Enum = append(effect.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)})
	}
	s.Properties["effect"] = effect
}
