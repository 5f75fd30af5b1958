package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestCRDs(t *testing.T) {
	var names []string
	for _, definition := range CRDs() {
		names = append(names, definition.Name)
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(definition.YAML, &crd); err != nil {
			t.Fatalf("%s: %v", definition.Name, err)
		}
		if crd.Name != definition.Name || crd.Kind != "CustomResourceDefinition" || crd.Spec.Scope != apiextensionsv1.ClusterScoped {
			t.Errorf("%s: %s %s, scope %s", definition.Name, crd.Kind, crd.Name, crd.Spec.Scope)
		}
		version := crd.Spec.Versions[0]
		if !version.Served || !version.Storage || version.Subresources.Status == nil {
			t.Errorf("%s: served %t, stored %t, subresources %v", definition.Name, version.Served, version.Storage, version.Subresources)
		}
	}
	if diff := cmp.Diff([]string{"awsnodetemplates.karpenter.k8s.aws", "provisioners.karpenter.sh"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The API server accepts in budgets the reasons that there are.
func TestReasonsOfBudgets(t *testing.T) {
	var crd apiextensionsv1.CustomResourceDefinition
	for _, definition := range CRDs() {
		if strings.HasPrefix(definition.Name, "provisioners.") {
			if err := yaml.UnmarshalStrict(definition.YAML, &crd); err != nil {
				t.Fatal(err)
			}
		}
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var got []string
	for _, value := range spec.Properties["disruption"].Properties["budgets"].Items.Schema.Properties["reasons"].Items.Schema.Enum {
		got = append(got, strings.Trim(string(value.Raw), `"`))
	}
	if diff := cmp.Diff(DisruptionReasons, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
