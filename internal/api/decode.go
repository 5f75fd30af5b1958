package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// ours are kinds whose fields are easily mixed up. Of types that are required to have a
// field, or complete themselves, the validation says more where they are empty.
var ours = decode.Decoder{
	Related: []decode.Kind{
		{Type: reflect.TypeFor[Provisioner](), Name: "a " + ProvisionerKind}, {Type: reflect.TypeFor[AWSNodeTemplate](), Name: "an " + NodeTemplateKind},
	},
	Quiet: []reflect.Type{reflect.TypeFor[Limits](), reflect.TypeFor[ProviderRef](), reflect.TypeFor[inlineProvider](), reflect.TypeFor[BlockDevice]()},
}

// DecodeProvisioner reads one YAML or JSON document leniently: unknown fields,
// explicit nulls, empty lists and a namespace are accepted. What was ignored
// comes back as warnings. An error is Findings where it is about fields, one for
// every value of the wrong type.
func DecodeProvisioner(doc []byte) (*Provisioner, finding.List, error) {
	return readDocument(doc, ProvisionerGVK, ProvisionerOf)
}

// ProvisionerOf reads an object of JSON values as DecodeProvisioner does a document.
func ProvisionerOf(object map[string]any) (*Provisioner, finding.List, error) {
	return readObject(object, ProvisionerGVK, &Provisioner{})
}

// DecodeNodeTemplate reads one YAML or JSON document as DecodeProvisioner does.
func DecodeNodeTemplate(doc []byte) (*AWSNodeTemplate, finding.List, error) {
	return readDocument(doc, NodeTemplateGVK, NodeTemplateOf)
}

// NodeTemplateOf reads an object of JSON values as DecodeNodeTemplate does a document.
func NodeTemplateOf(object map[string]any) (*AWSNodeTemplate, finding.List, error) {
	return readObject(object, NodeTemplateGVK, &AWSNodeTemplate{})
}

func readDocument[T any](doc []byte, want schema.GroupVersionKind, of func(map[string]any) (*T, finding.List, error)) (*T, finding.List, error) {
	object, err := parse(doc, want)
	if err != nil {
		return nil, nil, err
	}
	return of(object)
}

func parse(doc []byte, want schema.GroupVersionKind) (map[string]any, error) {
	asJSON := doc
	if !json.Valid(doc) { // reading JSON as YAML takes several times as long
		var err error
		if asJSON, err = yaml.YAMLToJSONStrict(doc); err != nil {
			return nil, fmt.Errorf("parse %s: %w", want.Kind, err)
		}
	}
	tree, err := decode.Tree(asJSON)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", want.Kind, err)
	}
	if tree == nil {
		return nil, fmt.Errorf("parse %s: the document is empty", want.Kind)
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("parse %s: the document is %s, not an object", want.Kind, decode.Describe(tree))
	}
	return object, nil
}

func readObject[T metav1.Object](object map[string]any, want schema.GroupVersionKind, into T) (none T, warnings finding.List, err error) {
	if wrong := checkKind(object, want); wrong != nil {
		return none, nil, finding.List{*wrong}
	}
	warnings, errs := ours.Decode(object, into, nil)
	if len(errs) > 0 {
		return none, warnings, errs
	}
	if into.GetNamespace() != "" {
		warnings = append(warnings, finding.Finding{
			Path: "metadata.namespace", Text: finding.Say("%ss belong to no namespace, ignored", want.Kind), Advice: finding.Say("remove it"),
		})
		into.SetNamespace("")
	}
	return into, warnings, nil
}

// checkKind refuses other kinds, and other versions of the kind, by name: their
// fields differ in meaning, so that reading them would guess.
func checkKind(object map[string]any, want schema.GroupVersionKind) *finding.Finding {
	kind, apiVersion := object["kind"], object["apiVersion"]
	if kind != want.Kind {
		return &finding.Finding{Severity: finding.Error, Path: "kind", Text: finding.Say("%s is not %s", decode.Show(kind), want.Kind)}
	}
	if served := want.GroupVersion().String(); apiVersion != served {
		return &finding.Finding{
			Severity: finding.Error, Path: "apiVersion",
			Text: finding.Say("%s has no kind %s", decode.Show(apiVersion), want.Kind), Advice: finding.Say("use %s", served),
		}
	}
	return nil
}
