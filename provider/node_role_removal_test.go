package provider_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Machines that run with a role lose the cluster and AWS with it. A replacement of the role does the same, because
// Terraform deletes the one before it creates the other.
func TestPlanTellsOfNodesThatNeedTheNodeRole(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "needs-role", `{labels: {team: a}}`)
	defer remove(t, api.ProvisionerGVR, "needs-role")
	addFittingNode(t, "needs-role")
	defer removeNode(t, "needs-role")
	role := func(changes map[string]string) func(tftypes.Object) tftypes.Value {
		return func(typ tftypes.Object) tftypes.Value {
			values := map[string]tftypes.Value{}
			if err := blank(typ, "needed").As(&values); err != nil {
				t.Fatal(err)
			}
			all := map[string]string{"path": "/", "instance_profile": "needed", "access_entry": "none"}
			maps.Copy(all, changes)
			for name, text := range all {
				values[name] = tftypes.NewValue(tftypes.String, text)
			}
			return tftypes.NewValue(typ, values)
		}
	}
	for what, c := range map[string]struct {
		planned func(tftypes.Object) tftypes.Value
		warns   bool
	}{
		"a destroy":           {func(typ tftypes.Object) tftypes.Value { return tftypes.NewValue(typ, nil) }, true},
		"another name":        {role(map[string]string{"name": "needed-2"}), true},
		"another path":        {role(map[string]string{"path": "/nodes/"}), true},
		"another description": {role(map[string]string{"description": "of nodes"}), false},
	} {
		t.Run(what, func(t *testing.T) {
			got := plannedDiagnostics(t, "packhorse_node_role", role(nil), c.planned)
			const want = "IAM role needed: destroying it cuts off the nodes that run with it (at most " // other tests may have nodes
			if !c.warns && len(got) > 0 || c.warns && (len(got) != 1 || !strings.HasPrefix(got[0].Summary, want) || !strings.Contains(got[0].Detail, "second packhorse_node_role")) {
				t.Errorf("warnings = %v, want %t: %q", got, c.warns, want)
			}
		})
	}
}
