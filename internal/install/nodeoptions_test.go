package install_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestNodeOptions(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want offer.NodeOptions
	}{
		"none": {[]string{"run"}, offer.NodeOptions{}},
		"all": {
			[]string{"run", "--prefix-delegation=true", "--pod-eni", "--ignore-enis=true", "--efa=true", "--reserved-enis=1", "--vm-memory-overhead-percent=5"},
			offer.NodeOptions{PrefixDelegation: true, PodENI: true, IgnoreENIs: true, EFA: true, ReservedENIs: 1, MemoryOverheadPercent: new(5.0)},
		},
		"values of their own": {
			[]string{"run", "--pod-eni", "--cluster-name", "efa", "--reserved-enis", "1", "--vm-memory-overhead-percent", "5"},
			offer.NodeOptions{PodENI: true, ReservedENIs: 1, MemoryOverheadPercent: new(5.0)},
		},
		"fewer than none":        {[]string{"run", "--reserved-enis=-1"}, offer.NodeOptions{}},
		"what the agent refuses": {[]string{"run", "--pod-eni=perhaps", "--efa=false", "--reserved-enis=few", "--vm-memory-overhead-percent=101"}, offer.NodeOptions{}},
		"too many interfaces":    {[]string{"run", "--reserved-enis=99"}, offer.NodeOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			var agent appsv1.Deployment
			agent.Spec.Template.Spec.Containers = []corev1.Container{{Name: "agent", Args: tt.args}}
			if diff := cmp.Diff(tt.want, install.NodeOptions(&agent)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
