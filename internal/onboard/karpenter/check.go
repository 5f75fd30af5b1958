package karpenter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// relatedKinds are those among which fields have moved from release to release.
var relatedKinds = decode.Decoder{Related: []decode.Kind{
	{Type: reflect.TypeFor[nodePool](), Name: "a " + NodePoolKind},
	{Type: reflect.TypeFor[nodeClass](), Name: "an " + NodeClassKind},
	{Type: reflect.TypeFor[api.Provisioner](), Name: "a " + api.ProvisionerKind},
}}

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

// Check says what Karpenter's own rules say against a NodePool or an EC2NodeClass: the
// errors are those for which the API server refuses it, and the warnings are fields
// that nothing reads. Objects of v1beta1 are checked for their fields and types only.
func Check(document map[string]any) finding.List {
	apiVersion, _ := document["apiVersion"].(string)
	_, version, _ := strings.Cut(apiVersion, "/")
	r := rules{}
	r.name(document)
	pool := document["kind"] == NodePoolKind
	switch {
	case version != "v1" && pool:
		r.decode(document, &nodePoolBeta{})
	case version != "v1":
		r.decode(document, &nodeClass{})
	case pool:
		var p nodePool
		if r.decode(document, &p) {
			r.pool(&p)
		}
	default:
		var c nodeClass
		if r.decode(document, &c) {
			r.class(&c)
		}
	}
	return r.found
}

// decode reads an object as far as it can be read, and reports whether that is all of it.
func (r *rules) decode(document map[string]any, into any) bool {
	warnings, errs := relatedKinds.Decode(document, into, nil)
	r.found = slices.Concat(r.found, warnings, errs)
	return len(r.found.Errors()) == 0
}

// name checks what objects of every kind need.
func (r *rules) name(document map[string]any) {
	metadata, _ := document["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if generated, _ := metadata["generateName"].(string); name == "" && generated != "" {
		return
	}
	if !r.require("metadata.name", name != "", "such as default") {
		return
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		r.refuse("metadata.name", name, fmt.Sprintf("%q is not the name of an object", name), "use small letters, digits and hyphens")
	}
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		r.found = append(r.found, finding.Finding{Path: "metadata.namespace", Text: finding.Say("belongs to no namespace, ignored"), Advice: finding.Say("remove it")})
	}
}
