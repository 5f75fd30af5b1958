package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A pod is given up after the shortest time that its tolerations name, after five minutes where it has none, and never
// where they name no time.
func TestPatience(t *testing.T) {
	tolerates := func(seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}
	}
	other := corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To(int64(1))}
	for name, c := range map[string]struct {
		tolerations []corev1.Toleration
		daemon      bool
		want        time.Duration
		ends        bool
	}{
		"none":                  {want: 5 * time.Minute, ends: true},
		"of another taint":      {tolerations: []corev1.Toleration{other}, want: 5 * time.Minute, ends: true},
		"the shortest":          {tolerations: []corev1.Toleration{tolerates(ptr.To(int64(60))), tolerates(ptr.To(int64(30))), tolerates(nil)}, want: 30 * time.Second, ends: true},
		"for ever":              {tolerations: []corev1.Toleration{tolerates(nil)}},
		"a pod of a DaemonSet":  {daemon: true},
		"of everything at once": {tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: c.tolerations}}
		if c.daemon {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Controller: ptr.To(true)}}
		}
		if got, ends := Patience(p); ends != c.ends || ends && got != c.want {
			t.Errorf("%s: it is given up after %s (%t), want %s (%t)", name, got, ends, c.want, c.ends)
		}
	}
}

// A node has the taints for as long as its kubelet is silent, and is silent since the first time.
func TestSilence(t *testing.T) {
	n := Register("node", offer.NodeSpec{}, "uid", metav1.Time{})
	first := metav1.Unix(60, 0)
	for _, now := range []metav1.Time{first, metav1.Unix(90, 0)} {
		FallSilent(n, now)
		if since := cluster.FromNode(n, nil).SilentSince; len(n.Spec.Taints) != 2 || !since.Equal(first.Time) {
			t.Errorf("the node has taints %v and is silent since %s, want two and %s", n.Spec.Taints, since, first)
		}
	}
	Answer(n, metav1.Unix(120, 0))
	if out := cluster.FromNode(n, nil); len(n.Spec.Taints) != 0 || !out.Ready {
		t.Errorf("the node has taints %v and is ready: %t, want none and true", n.Spec.Taints, out.Ready)
	}
}
