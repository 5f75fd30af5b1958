package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func TestCheckBounds(t *testing.T) {
	long := strings.Repeat("a", 300)
	tests := map[string]struct {
		resource, spec string
		want           []string
	}{
		"nothing":           {api.ProvisionerGVR.GroupResource().String(), `{}`, nil},
		"what fits":         {api.ProvisionerGVR.GroupResource().String(), `{labels: {a: b}, disruption: {consolidateAfter: 30s}}`, nil},
		"a form":            {api.ProvisionerGVR.GroupResource().String(), `{disruption: {consolidateAfter: "-0"}}`, []string{"spec.disruption.consolidateAfter"}},
		"a long schedule":   {api.ProvisionerGVR.GroupResource().String(), `{disruption: {budgets: [{nodes: "1", schedule: ` + long + `}]}}`, []string{"spec.disruption.budgets[0].schedule"}},
		"a long tag":        {api.NodeTemplateGVR.GroupResource().String(), `{tags: {a: ` + long + `}}`, []string{"spec.tags[a]"}},
		"too many values":   {api.ProvisionerGVR.GroupResource().String(), `{podOverrides: [` + strings.Repeat("kubernetes.io/arch, ", 51) + `]}`, []string{"spec.podOverrides"}},
		"an unknown field":  {api.ProvisionerGVR.GroupResource().String(), `{colour: ` + long + `}`, nil},
		"an inline profile": {api.ProvisionerGVR.GroupResource().String(), `{provider: {tags: {a: ` + long + `}}}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var spec map[string]any
			if err := yaml.Unmarshal([]byte(tt.spec), &spec); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, err := range Bounds(tt.resource, spec) {
				got = append(got, err.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fields out of bounds (-want +got):\n%s", diff)
			}
		})
	}
}
