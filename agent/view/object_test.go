package view

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

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

// TYPE-013: the Node object has the labels of the instance type that was bought, also those that few types have.
func TestLabelsOfTheTypeCount(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name = "general"
	p := &Provisioner{Raw: raw, Spec: raw.Defaulted()}
	p.Market.Types = []offer.InstanceType{
		{Name: "plain"},
		{Name: "with-disk", Labels: map[string][]string{api.LabelInstanceLocalNVMe: {"900"}}},
	}
	for name, want := range map[string]string{"plain": "", "with-disk": "900"} {
		i := offer.Instance{NodeName: "n", InstanceType: name}
		for of, node := range map[string]*corev1.Node{"bought": NodeFor(p, &decide.Machine{}, i), "adopted": AdoptedNode(p, i)} {
			if got, ok := node.Labels[api.LabelInstanceLocalNVMe]; got != want || ok != (want != "") {
				t.Errorf("%s %s: the label is %q, want %q", of, name, got, want)
			}
		}
	}
}
