package view

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A node carries what its Provisioner says now. Nothing changes while the Provisioner cannot be read.
func TestGracePeriod(t *testing.T) {
	with := func(d time.Duration) *Provisioner {
		raw := &api.Provisioner{}
		raw.Spec.Disruption = &api.Disruption{TerminationGracePeriod: &metav1.Duration{Duration: d}}
		return &Provisioner{Raw: raw, Spec: raw.Defaulted()}
	}
	without := &Provisioner{Raw: &api.Provisioner{}, Spec: (&api.Provisioner{}).Defaulted()}
	broken := &Provisioner{Raw: without.Raw, Spec: without.Spec, Reason: ReasonValidation}
	for name, c := range map[string]struct {
		p         *Provisioner
		has, want string
	}{
		"none and none":     {without, "", ""},
		"it is new":         {with(10 * time.Minute), "", "10m0s"},
		"it is as it was":   {with(10 * time.Minute), "10m0s", "10m0s"},
		"it has changed":    {with(0), "10m0s", "0s"},
		"it was removed":    {without, "10m0s", ""},
		"it is gone":        {nil, "10m0s", "10m0s"},
		"it cannot be read": {broken, "10m0s", "10m0s"},
	} {
		annotations := map[string]string{}
		if c.has != "" {
			annotations[api.AnnotationGracePeriod] = c.has
		}
		n := &cluster.Node{Annotations: annotations}
		change, differs := GracePeriod(c.p, n)
		got := c.has
		if differs {
			got = change.SetAnnotations[api.AnnotationGracePeriod]
		}
		if got != c.want || differs != (c.has != c.want) {
			t.Errorf("%s: the node carries %q, want %q; changes: %t", name, got, c.want, differs)
		}
	}
}
