package view

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A takeover replaces no machine: a node only gets the label of its image if a new machine would get that image.
func TestTakenOverNodeHasNoImageFromWhichItWouldDrift(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name = "general"
	p := &Provisioner{Raw: raw, Spec: raw.Defaulted(), Market: offer.Market{
		Status: api.AWSNodeTemplateStatus{AMIs: []api.AMIStatus{{ID: "ami-2"}, {ID: "ami-1"}}},
		Types:  []offer.InstanceType{{Name: "m5.large", Labels: map[string][]string{api.LabelInstanceAMIID: {"ami-2"}}}},
	}}
	for _, c := range []struct{ instanceType, image, want string }{
		{"m5.large", "ami-2", "ami-2"},
		{"m5.large", "ami-1", ""},
		{"m5.large", "ami-0", ""},
		{"m5.xlarge", "ami-1", "ami-1"}, // which is not on sale now
	} {
		i := &offer.Instance{InstanceType: c.instanceType, ImageID: c.image}
		if got := TakenOver(p, &cluster.Node{Name: "n"}, i).SetLabels[api.LabelInstanceAMIID]; got != c.want {
			t.Errorf("%s with %s: the label is %q, want %q", c.instanceType, c.image, got, c.want)
		}
	}
}

// A second owner would keep the garbage collector from deleting a node with its Provisioner.
func TestProvisionerIsTheOnlyOwner(t *testing.T) {
	raw := &api.Provisioner{}
	raw.Name, raw.UID = "general", "ours"
	for _, c := range []struct {
		owners []string
		want   bool
	}{
		{[]string{"ours"}, false},
		{[]string{"machine", "ours"}, true},
		{[]string{"machine"}, true},
		{nil, true},
	} {
		if _, got := Owned(&Provisioner{Raw: raw}, &cluster.Node{Owners: c.owners}); got != c.want {
			t.Errorf("owners %v: changed %t, want %t", c.owners, got, c.want)
		}
	}
}
