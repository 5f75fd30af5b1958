package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// DecodeProvisioner reads one YAML or JSON document leniently: unknown fields,
// explicit nulls, empty lists and a namespace are accepted. What was ignored
// comes back as warnings with its path. An error names every path whose value
// has the wrong type.
func DecodeProvisioner(doc []byte) (*Provisioner, []string, error) {
	object, err := parse(doc, ProvisionerGVK)
	if err != nil {
		return nil, nil, err
	}
	return ProvisionerOf(object)
}

// ProvisionerOf reads an object of JSON values as DecodeProvisioner does a document.
func ProvisionerOf(object map[string]any) (*Provisioner, []string, error) {
	p := &Provisioner{}
	warnings, err := decodeObject(object, ProvisionerGVK, p)
	if err != nil {
		return nil, warnings, err
	}
	if p.Namespace != "" {
		warnings = append(warnings, clusterScoped(ProvisionerKind))
		p.Namespace = ""
	}
	return p, warnings, nil
}

// DecodeNodeTemplate reads one YAML or JSON document as DecodeProvisioner does.
func DecodeNodeTemplate(doc []byte) (*AWSNodeTemplate, []string, error) {
	object, err := parse(doc, NodeTemplateGVK)
	if err != nil {
		return nil, nil, err
	}
	return NodeTemplateOf(object)
}

// NodeTemplateOf reads an object of JSON values as DecodeNodeTemplate does a document.
func NodeTemplateOf(object map[string]any) (*AWSNodeTemplate, []string, error) {
	t := &AWSNodeTemplate{}
	warnings, err := decodeObject(object, NodeTemplateGVK, t)
	if err != nil {
		return nil, warnings, err
	}
	if t.Namespace != "" {
		warnings = append(warnings, clusterScoped(NodeTemplateKind))
		t.Namespace = ""
	}
	return t, warnings, nil
}

func clusterScoped(kind string) string {
	return fmt.Sprintf("metadata.namespace: %s is cluster-scoped, the namespace is ignored", kind)
}

func parse(doc []byte, want schema.GroupVersionKind) (map[string]any, error) {
	asJSON := doc
	if !json.Valid(doc) { // reading JSON as YAML takes several times as long
		var err error
		if asJSON, err = yaml.YAMLToJSONStrict(doc); err != nil {
			return nil, fmt.Errorf("parse %s: %w", want.Kind, err)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("parse %s: %w", want.Kind, err)
	}
	if tree == nil {
		return nil, fmt.Errorf("parse %s: the document is empty", want.Kind)
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("parse %s: the document is %s, not an object", want.Kind, describe(tree))
	}
	return object, nil
}

func decodeObject(object map[string]any, want schema.GroupVersionKind, into any) ([]string, error) {
	if err := checkKind(object, want); err != nil {
		return nil, err
	}
	warnings, errs := decodeTree(object, into, nil)
	return warnings, joinTypeErrors(errs)
}

// joinTypeErrors makes one error with a line for each value of the wrong type.
func joinTypeErrors(errs field.ErrorList) error {
	lines := make([]error, len(errs))
	for i, err := range errs {
		lines[i] = fmt.Errorf("%s: %s", err.Field, err.Detail)
	}
	return errors.Join(lines...)
}

// checkKind refuses other kinds, and other versions of the kind, by name: their
// fields differ in meaning, so that reading them would guess.
func checkKind(object map[string]any, want schema.GroupVersionKind) error {
	kind, apiVersion := object["kind"], object["apiVersion"]
	if kind != want.Kind {
		return fmt.Errorf("kind: %s is not %s", show(kind), want.Kind)
	}
	if served := want.GroupVersion().String(); apiVersion != served {
		return fmt.Errorf("apiVersion: %s has no kind %s: use %s", show(apiVersion), want.Kind, served)
	}
	return nil
}
