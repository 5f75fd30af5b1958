package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// What a machine is built from reaches the cloud unchanged, by reference and inline.
func TestLaunchRequestFacts(t *testing.T) {
	profile := api.NodeProfile{SubnetSelector: map[string]string{"Name": "private-*"}, SecurityGroupSelector: map[string]string{"Name": "node"}, AMIFamily: new("Bottlerocket")}
	for id, edit := range map[string]func(*api.ProvisionerSpec){
		"LAUNCH-007": func(s *api.ProvisionerSpec) {
			s.ProviderRef = &api.ProviderRef{APIVersion: "karpenter.k8s.aws/v1alpha1", Kind: "AWSNodeTemplate", Name: "standard"}
		},
		"LAUNCH-008": func(s *api.ProvisionerSpec) {
			s.Provider = &runtime.RawExtension{Raw: []byte(`{"subnetSelector":{"Name":"private-*"},"securityGroupSelector":{"Name":"node"},"amiFamily":"Bottlerocket"}`)}
		},
	} {
		t.Run(id, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				template := &api.AWSNodeTemplate{Spec: profile}
				template.Name = "standard"
				r.ApplyTemplate(template)
				other := &api.AWSNodeTemplate{Spec: api.NodeProfile{AMIFamily: new("AL2023")}}
				other.Name = "default" // as the Provisioner
				r.ApplyTemplate(other)
				r.Apply(testProvisioner("default", edit))
				r.start(Options{}, nil)
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "1Gi")})
				r.until("the pod runs", r.allRun("web", 1))
				if diff := cmp.Diff(&profile, r.Launches()[0].Node.Profile); diff != "" {
					t.Errorf("node profile of the order (-want +got):\n%s", diff)
				}
			})
		})
	}
}
