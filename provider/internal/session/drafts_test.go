package session

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// What a change adds is found by the drafts before it, whatever comes later.
func TestDraftsUpToATurn(t *testing.T) {
	provisioner := func(name string, weight int32) *api.Provisioner {
		return &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: api.ProvisionerSpec{Weight: &weight}}
	}
	live := []*api.Provisioner{provisioner("a", 1), provisioner("b", 1)}
	var drafts Drafts
	a := Draft(&drafts, provisioner("a", 2))
	Draft(&drafts, &api.AWSNodeTemplate{ObjectMeta: metav1.ObjectMeta{Name: "profile"}})
	b := Draft(&drafts, provisioner("b", 2))
	Draft(&drafts, provisioner("c", 2))
	for _, tt := range []struct {
		upTo Turn
		want []int32
	}{{a - 1, []int32{1, 1}}, {a, []int32{2, 1}}, {b - 1, []int32{2, 1}}, {b, []int32{2, 2}}, {drafts.All(), []int32{2, 2, 2}}} {
		var got []int32
		for _, p := range Drafted(&drafts, live, tt.upTo) {
			got = append(got, *p.Spec.Weight)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("weights up to turn %d: %v, want %v", tt.upTo, got, tt.want)
		}
	}
	if n := len(Drafted[*api.AWSNodeTemplate](&drafts, nil, a)); n != 0 {
		t.Errorf("%d node profiles before the one that was planned later", n)
	}
}
