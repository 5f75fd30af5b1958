package main

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const api = "../../api/"

// manifestCase is a record of internal/api/testdata, whose head explains it.
type manifestCase struct {
	Name       string         `json:"name"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
	Refused    []string       `json:"refused"`
	Server     string         `json:"server"`
}

// TestServerRefusesWhatItCan checks the manifests as the API server does: by the
// CRD's structural schema and its CEL rules.
func TestServerRefusesWhatItCan(t *testing.T) {
	for manifests, name := range map[string]string{
		"provisioners":  "provisioners.karpenter.sh",
		"nodetemplates": "awsnodetemplates.karpenter.k8s.aws",
	} {
		t.Run(manifests, func(t *testing.T) {
			server := newServer(t, name)
			var cases []manifestCase
			read(t, api+"testdata/"+manifests+".yaml", &cases)
			for _, c := range cases {
				errs := server.create(t, &c)
				refuse := len(c.Refused) > 0 && c.Server != "accepts"
				if refuse != (len(errs) > 0) {
					t.Errorf("%s: refused: %t, want %t: %v", c.Name, len(errs) > 0, refuse, errs)
				}
				for _, err := range errs {
					if strings.Contains(err.Detail, "evaluating rule") || err.Type == field.ErrorTypeInternal {
						t.Errorf("%s: a rule fails instead of refusing: %v", c.Name, err)
					}
				}
			}
		})
	}
}

// The API server's messages name the key that they are about.
func TestServerNamesTheKey(t *testing.T) {
	want := map[string]string{
		"bad label values":                 "spec.labels.",
		"restricted labels":                " is in a reserved domain and cannot be set",
		"restricted requirement keys":      "karpenter.sh/provisioner-name is in a reserved domain",
		"a label that is none":             "spec.labels.d",
		"values on Exists":                 ": Exists takes no values",
		"Gt with a word":                   ": Gt takes exactly one whole number that is not negative",
		"a capacity type among the labels": "the label karpenter.sh/capacity-type must be spot or on-demand",
	}
	server := newServer(t, "provisioners.karpenter.sh")
	var cases []manifestCase
	read(t, api+"testdata/provisioners.yaml", &cases)
	for _, c := range cases {
		if text, ok := want[c.Name]; ok {
			if errs := server.create(t, &c); !strings.Contains(errs.ToAggregate().Error(), text) {
				t.Errorf("%s: %v, want %q", c.Name, errs, text)
			}
			delete(want, c.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("no such cases: %v", want)
	}
}

// Where the rules of internal/api name an entry of a map, the API server's message
// about the map names the entry, too.
func TestServerNamesTheKeyOfAMap(t *testing.T) {
	entry := regexp.MustCompile(`^(.*)\[([^]]*[^]0-9][^]]*)\]$`)
	for manifests, name := range map[string]string{
		"provisioners":  "provisioners.karpenter.sh",
		"nodetemplates": "awsnodetemplates.karpenter.k8s.aws",
	} {
		server := newServer(t, name)
		var cases []manifestCase
		read(t, api+"testdata/"+manifests+".yaml", &cases)
		for _, c := range cases {
			keys := map[string][]string{} // by the path of their map
			for _, path := range c.Refused {
				if parts := entry.FindStringSubmatch(path); parts != nil {
					keys[parts[1]] = append(keys[parts[1]], parts[2])
				}
			}
			for _, err := range server.create(t, &c) {
				named := func(key string) bool { return strings.Contains(err.Detail, key) }
				if among := keys[err.Field]; len(among) > 0 && !slices.ContainsFunc(among, named) {
					t.Errorf("%s: %v, want one that names one of %q", c.Name, err, among)
				}
			}
		}
	}
}

// server validates objects of one kind.
type server struct {
	definition *apiextensions.CustomResourceDefinition
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// newServer accepts the definition as the API server does, which bounds the
// estimated cost of its CEL rules.
func newServer(t *testing.T, name string) *server {
	t.Helper()
	var written apiextensionsv1.CustomResourceDefinition
	read(t, api+"crds/"+name+".yaml", &written)
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&written)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&written.Spec)
	definition := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&written, definition, nil); err != nil {
		t.Fatal(err)
	}
	definition.Status.StoredVersions = []string{definition.Spec.Versions[0].Name}
	if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), definition); len(errs) > 0 {
		t.Fatalf("the API server refuses the definition: %v", errs.ToAggregate())
	}
	root := cmp.Or(definition.Spec.Validation, definition.Spec.Versions[0].Schema).OpenAPIV3Schema
	structural, err := structuralschema.NewStructural(root)
	if err != nil {
		t.Fatal(err)
	}
	schema, _, err := validation.NewSchemaValidator(root)
	if err != nil {
		t.Fatal(err)
	}
	return &server{definition, structural, schema, cel.NewValidator(structural, true, celconfig.PerCallLimit)}
}

func (s *server) create(t *testing.T, c *manifestCase) field.ErrorList {
	t.Helper()
	names := s.definition.Spec.Names
	served := s.definition.Spec.Group + "/" + s.definition.Spec.Versions[0].Name
	object := map[string]any{
		"apiVersion": cmp.Or(c.APIVersion, served), "kind": cmp.Or(c.Kind, names.Kind), "metadata": c.Metadata, "spec": c.Spec,
	}
	if c.Metadata == nil {
		object["metadata"] = map[string]any{"name": "default"}
	}
	if object["apiVersion"] != served || object["kind"] != names.Kind {
		return field.ErrorList{field.NotFound(field.NewPath("kind"), object["kind"])}
	}
	pruning.Prune(object, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	name, _ := object["metadata"].(map[string]any)["name"].(string)
	errs := field.ErrorList{}
	for _, problem := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), name, problem))
	}
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.schema)...)
	if len(errs) > 0 {
		return errs
	}
	broken, _ := s.rules.Validate(t.Context(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return broken
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	// Unlike encoding/json this keeps whole numbers apart from fractions.
	if err := json.Unmarshal(asJSON, into); err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
}
