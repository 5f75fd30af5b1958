package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// keepUnknown lets every object below a schema have fields that are not named
// in it. Manifests of other releases have such fields, and kubectl's strict
// validation would refuse them where the API server prunes.
func keepUnknown(s *apiextensionsv1.JSONSchemaProps) {
	if len(s.Properties) > 0 {
		s.XPreserveUnknownFields = ptr.To(true)
	}
	for name, property := range s.Properties {
		keepUnknown(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		keepUnknown(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		keepUnknown(s.AdditionalProperties.Schema)
	}
}
