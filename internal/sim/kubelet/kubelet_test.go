package kubelet

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A node has the labels of its user data and of its machine, and what the machine has less what
// is missing; devices are reported when their plugins run.
func TestDescribe(t *testing.T) {
	typ := &offer.InstanceType{Name: "g5.xlarge", Capacity: amount.List{amount.CPU: 4000, amount.Memory: 16 << 30, "nvidia.com/gpu": 1}}
	n := Register("node", offer.NodeSpec{Labels: map[string]string{"team": "a"}}, "uid", metav1.Time{})
	for _, bare := range []bool{true, false} {
		Describe(n, Machine{Type: typ, Name: typ.Name, Zone: "z1", Shortfall: amount.List{amount.Memory: 1 << 30}, Bare: bare})
		memory, gpus := n.Status.Allocatable[corev1.ResourceMemory], n.Status.Allocatable["nvidia.com/gpu"]
		if memory.Value() != 15<<30 {
			t.Errorf("allocatable memory is %s, want 15Gi", memory.String())
		}
		if gpus.IsZero() != bare {
			t.Errorf("plugins missing is %t, and %s GPUs are reported", bare, gpus.String())
		}
	}
	for key, want := range map[string]string{"team": "a", api.LabelZone: "z1", api.LabelInstanceType: "g5.xlarge", api.LabelHostname: "node"} {
		if got := n.Labels[key]; got != want {
			t.Errorf("label %s is %q, want %q", key, got, want)
		}
	}
}

// A node has one condition Ready, the last one.
func TestSetReady(t *testing.T) {
	n := Register("node", offer.NodeSpec{}, "uid", metav1.Time{})
	SetReady(n, corev1.ConditionTrue, "KubeletReady", metav1.Time{})
	SetReady(n, corev1.ConditionUnknown, "NodeStatusUnknown", metav1.Time{})
	if c := n.Status.Conditions; len(c) != 1 || c[0].Status != corev1.ConditionUnknown {
		t.Errorf("conditions are %v, want one that is Unknown", c)
	}
}
