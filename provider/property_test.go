package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// generated is how many configurations the properties are checked for.
const generated = 200

// drawConfiguration draws the resources, by type and name.
func drawConfiguration() (resources map[string]map[string]arguments) {
	resources = map[string]map[string]arguments{"packhorse_provisioner": {}, "packhorse_node_profile": {}}
	for i := range generated {
		name := fmt.Sprintf("generated-%03d", i)
		typeName, draw := "packhorse_provisioner", aProvisioner()
		if i%3 == 2 {
			typeName, draw = "packhorse_node_profile", aNodeProfile()
		}
		drawn := draw.Example(i)
		drawn["name"] = name
		if i%5 == 0 {
			drawn["force_conflicts"] = true
		}
		resources[typeName][name] = drawn
	}
	return resources
}

// importing is an import block for each resource.
func importing(resources map[string]map[string]arguments) string {
	var b strings.Builder
	for typeName, all := range resources {
		for name := range all {
			fmt.Fprintf(&b, "import {\n to = %s.%s\n id = %q\n}\n", typeName, name, name)
		}
	}
	return b.String()
}

func wantImports(t *testing.T, what string, changes []change) {
	t.Helper()
	wantNoChange(t, what, changes)
	missing := slices.DeleteFunc(slices.Clone(changes), func(ch change) bool { return ch.Change.Importing != nil })
	if len(changes) != generated || len(missing) > 0 {
		t.Errorf("%s: %d resources, %d of them not imported, want %d imports", what, len(changes), len(missing), generated)
	}
}

// Whatever can be declared is declared once: the plan after the apply is empty,
// and so is that of an import, with the configuration at hand or one that
// Terraform writes. Refreshing all of it costs a few requests.
func TestPlansAreEmptyForWhateverWasApplied(t *testing.T) {
	resources := drawConfiguration()
	raw, err := json.Marshal(map[string]any{"resource": resources})
	if err != nil {
		t.Fatal(err)
	}
	wantAllArguments(t, resources)

	c := newCLI(t, nil)
	c.write(t, map[string]string{"versions.tf": requiring(), "main.tf.json": string(raw)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	before := objectRequests(t)
	wantNoChange(t, "the plan after the apply", c.plan(t))
	if made := objectRequests(t) - before; made > maxRefreshRequests {
		t.Errorf("a plan of %d resources made %d requests, want at most %d", generated, made, maxRefreshRequests)
	}

	for _, all := range resources {
		for _, one := range all {
			delete(one, "timeouts") // nobody but the configuration knows them
			delete(one, "force_conflicts")
			dropEmpty(one)
		}
	}
	if raw, err = json.Marshal(map[string]any{"resource": resources}); err != nil {
		t.Fatal(err)
	}
	fresh := newCLI(t, nil)
	fresh.write(t, map[string]string{"versions.tf": requiring(), "main.tf.json": string(raw), "imports.tf": importing(resources)})
	fresh.run(t, "init")
	wantImports(t, "the plan of the import", fresh.plan(t))

	written := newCLI(t, nil)
	written.write(t, map[string]string{"versions.tf": requiring(), "imports.tf": importing(resources)})
	written.run(t, "init")
	wantImports(t, "the plan of a configuration that Terraform has written", written.plan(t, "-generate-config-out=generated.tf"))

	// Quicker than a destroy, which other tests are about.
	for typeName, kind := range map[string]schema.GroupVersionResource{"packhorse_provisioner": api.ProvisionerGVR, "packhorse_node_profile": api.NodeTemplateGVR} {
		for name := range resources[typeName] {
			remove(t, kind, name)
		}
	}
}

// dropEmpty removes empty objects and texts, which the cluster cannot tell from
// none. The values of maps stay: an empty one means something there.
func dropEmpty(in arguments) {
	for name, value := range in {
		switch value := value.(type) {
		case arguments:
			if dropEmpty(value); len(value) == 0 {
				delete(in, name)
			}
		case []any:
			for _, element := range value {
				if inner, ok := element.(arguments); ok {
					dropEmpty(inner)
				}
			}
		case string:
			if value == "" && name == "value" {
				delete(in, name)
			}
		}
	}
}

// maxRefreshRequests is for two kinds, each listed in the validation, refresh and
// plan of one command, and for looking at the cluster itself.
const maxRefreshRequests = 12

// wantAllArguments fails for each argument of the schemas that was never drawn.
func wantAllArguments(t *testing.T, resources map[string]map[string]arguments) {
	t.Helper()
	drawn := map[string]bool{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		drawn[at] = true
		switch value := value.(type) {
		case arguments:
			for name, inner := range value {
				walk(at+"."+name, inner)
			}
		case []any:
			for _, inner := range value {
				walk(at, inner)
			}
		}
	}
	for typeName, all := range resources {
		for _, one := range all {
			walk(typeName, one)
		}
	}
	var missing []string
	for _, argument := range argumentsOf(t, "packhorse_provisioner", "packhorse_node_profile") {
		if !drawn[argument] {
			missing = append(missing, argument)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("arguments that no configuration has, so that nothing is known of them: draw them in generate_test.go (-want +got):\n%s", diff)
	}
}

// objectRequests is how many requests for our kinds the API server has answered.
func objectRequests(t testing.TB) (count int) {
	t.Helper()
	raw, err := kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		ours := strings.Contains(line, `group="karpenter.sh"`) || strings.Contains(line, `group="karpenter.k8s.aws"`)
		if !strings.HasPrefix(line, "apiserver_request_total{") || !ours {
			continue
		}
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n); err != nil {
			t.Fatal(err)
		}
		count += int(n)
	}
	return count
}
