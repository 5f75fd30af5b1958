package view

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Whoever looks at a node that was made again reads why it is not ready.
func TestRemadeNodeSaysSo(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name = "general"
	node := RemadeNode(&Provisioner{Raw: raw, Spec: raw.Defaulted()}, offer.Instance{NodeName: "n"})
	if got := node.Status.Conditions[0].Message; !strings.Contains(got, "made again") {
		t.Errorf("the message is %q", got)
	}
}

// What a machine is counts, and not what its Provisioner says of machines: a pod may have
// overridden that.
func TestLabelsOfTheMachineCount(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name = "general"
	raw.Spec.Labels = map[string]string{
		"team": "a", api.LabelZone: "a", "topology.ebs.csi.aws.com/zone": "a", "failure-domain.beta.kubernetes.io/zone": "a",
	}
	raw.Spec.PodOverrides = []string{api.LabelZone}
	p := &Provisioner{Raw: raw, Spec: raw.Defaulted()}
	i := offer.Instance{NodeName: "n", Zone: "c"}
	m := &decide.Machine{Labels: map[string]string{"team": "a"}}
	for name, got := range map[string]map[string]string{
		"bought": NodeFor(p, m, i).Labels, "adopted": AdoptedNode(p, i).Labels, "its kubelet": NodeLabels(p, m),
	} {
		if got["team"] != "a" {
			t.Errorf("%s: the Provisioner's own label is missing: %v", name, got)
		}
		for key, value := range got {
			if api.NormalizeLabel(key) == api.LabelZone && value != "c" {
				t.Errorf("%s: the machine in zone c is labelled %s=%s", name, key, value)
			}
		}
	}
}
