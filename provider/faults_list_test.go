package provider_test

import (
	"context"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A list resource that cannot read everything is an error, and not one that has found
// less. The installed Terraform may know none, so that they are asked through the protocol.
func TestFaultsOfListResources(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, api.ProvisionerKind, "listed-struck", "{weight: 3}")
	defer remove(t, api.ProvisionerGVR, "listed-struck")
	var gate strikes
	gate.arm(nil)
	t.Setenv("KUBE_CONFIG_PATH", inFront(t, gate.around))
	for typeName, clusterName := range map[string]string{
		"packhorse_provisioner": "", "packhorse_node_profile": "", "packhorse_irsa_role": box.ClusterName,
	} {
		for _, kind := range []string{"hang", "cut", "429", "500", "garbage", "empty"} {
			requests := []int{len(kind) % 3}
			if setting(t, "FAULTS", 0) > 0 {
				requests = []int{0, 1, 2}
			}
			for _, from := range requests {
				f := &fault{kind: kind, from: from, forever: true}
				gate.arm(f)
				ctx, cancel := context.WithTimeout(t.Context(), faultPatience/4)
				var said []string
				for _, result := range listing(ctx, t, configuredFor(t, clusterName), typeName, 0) {
					for _, d := range result.Diagnostics {
						said = append(said, d.Summary)
					}
				}
				cancel()
				if gate.requests() > from && len(said) == 0 {
					t.Errorf("%s, %s at request %d: it counts as a list of everything", typeName, kind, from)
				}
				gate.arm(nil)
			}
		}
	}
}
