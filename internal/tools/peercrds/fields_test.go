package peercrds

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/karpenter-provider-aws/pkg/apis"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// TestFieldsPage checks that the documentation says of every field of Karpenter's
// definitions what happens to it. That the tests which it names exist is checked by
// package karpenter.
func TestFieldsPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/karpenter-fields.md")
	if err != nil {
		t.Fatal(err)
	}
	pools, classes, ok := strings.Cut(string(text), "\n## "+kinds.NodeClassKind+"\n")
	if !ok {
		t.Fatal("the page has no part for EC2NodeClasses")
	}
	of := map[string]string{kinds.NodePoolKind: pools, kinds.NodeClassKind: classes}
	seen := 0
	for _, crd := range apis.CRDs {
		part, known := of[crd.Spec.Names.Kind]
		for _, version := range crd.Spec.Versions {
			if !known || version.Name != "v1" {
				continue
			}
			for _, path := range fieldsOf(t, version.Schema.OpenAPIV3Schema) {
				if seen++; !strings.Contains(part, "`"+path+"`") {
					t.Errorf("%s: the page does not name %s", crd.Spec.Names.Kind, path)
				}
			}
		}
	}
	const least = 100
	if seen < least {
		t.Errorf("only %d fields were found", seen)
	}
}

// fieldsOf lists the paths of the fields of spec and status that a schema has.
func fieldsOf(t *testing.T, schema any) []string {
	t.Helper()
	asJSON, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var root level
	if err := json.Unmarshal(asJSON, &root); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, part := range []string{"spec", "status"} {
		of := root.Properties[part]
		out = append(out, of.paths(part)...)
	}
	return out
}

// level is what is read of a schema.
type level struct {
	Properties map[string]level `json:"properties"`
	Items      *level           `json:"items"`
}

func (l level) paths(at string) []string {
	var out []string
	for name, inner := range l.Properties {
		path := at + "." + name
		out = append(append(out, path), inner.paths(path)...)
		if inner.Items != nil {
			out = append(out, inner.Items.paths(path+"[]")...)
		}
	}
	return out
}
