package replicas

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func pod(uid types.UID, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{UID: uid, Labels: map[string]string{"app": "web"}, Annotations: map[string]string{}},
		Spec:       corev1.PodSpec{NodeName: "node-" + string(uid)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

// A ReplicaSet ends pods that serve nobody first, whatever their deletion costs.
func TestOrder(t *testing.T) {
	pods := []*corev1.Pod{
		pod("unbound", func(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending }),
		pod("starts", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
		pod("unready", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		pod("cheap", func(p *corev1.Pod) { p.Annotations[corev1.PodDeletionCost] = "-5" }),
		pod("younger", nil), pod("older", nil),
		pod("dear", func(p *corev1.Pod) { p.Annotations[corev1.PodDeletionCost] = "5" }),
	}
	Order(pods)
	want := []types.UID{"dear", "older", "younger", "cheap", "unready", "starts", "unbound"}
	for i, p := range pods {
		if p.UID != want[i] {
			t.Errorf("%d is %s, want %s", i, p.UID, want[i])
		}
	}
}

// A budget counts the pods that run, and keeps none that does not.
func TestBudget(t *testing.T) {
	pending := pod("c", func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })
	pods := map[types.UID]*corev1.Pod{"a": pod("a", nil), "b": pod("b", nil), "c": pending}
	for least, want := range map[int]int{1: 1, 2: 0, 3: 0} {
		b := Budget{Selector: map[string]string{"app": "web"}, MinAvailable: least}
		if got := b.Allows(pods); got != want {
			t.Errorf("at least %d: it allows %d, want %d", least, got, want)
		}
		if b.Forbids(pods["a"], pods) == (want > 0) || b.Forbids(pending, pods) {
			t.Errorf("at least %d: it keeps a pod that may go, or lets one go that may not", least)
		}
	}
	other := Budget{Selector: map[string]string{"app": "other"}, MinAvailable: 9}
	if other.Forbids(pods["a"], pods) {
		t.Error("a budget of other pods keeps one")
	}
}
