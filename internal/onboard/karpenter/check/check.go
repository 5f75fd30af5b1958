// Package check holds NodePools and EC2NodeClasses against Karpenter's own rules: those of
// their definitions.
package check

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Object says what Karpenter's own rules say against a NodePool or an EC2NodeClass: the
// errors are those for which the API server refuses it, and the warnings are fields
// that nothing reads. Objects of v1beta1 are checked for their fields and types only.
func Object(document map[string]any) finding.List {
	apiVersion, _ := document["apiVersion"].(string)
	_, version, _ := strings.Cut(apiVersion, "/")
	r := rules{}
	r.name(document)
	pool := document["kind"] == kinds.NodePoolKind
	switch {
	case version != "v1" && pool:
		r.decode(document, &kinds.NodePoolBeta{})
	case version != "v1":
		r.decode(document, &kinds.NodeClass{})
	case pool:
		var p kinds.NodePool
		if r.decode(document, &p) {
			r.pool(&p)
		}
	default:
		var c kinds.NodeClass
		if r.decode(document, &c) {
			r.class(&c)
		}
	}
	return r.found
}

// decode reads an object as far as it can be read, and reports whether that is all of it.
func (r *rules) decode(document map[string]any, into any) bool {
	warnings, errs := kinds.Decoder.Decode(document, into, nil)
	for i, f := range warnings {
		if kinds.UnknownSetting(f.Path) {
			warnings[i].Text = finding.Say("the setting is not supported, and NodePools that have it buy nothing")
		}
	}
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
		r.refuse("metadata.name", fmt.Sprintf("%q is not the name of an object", name), "use small letters, digits and hyphens")
	}
	if namespace, _ := metadata["namespace"].(string); namespace != "" {
		r.found = append(r.found, finding.Finding{Path: "metadata.namespace", Text: finding.Say("belongs to no namespace, ignored"), Advice: finding.Say("remove it")})
	}
}
