package moves

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func pod(uid types.UID, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			UID: uid, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{{Name: "web", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
}

// A successor stands in the place of the pod that was evicted: that it is evicted again within an
// hour counts, and that it comes back to where its predecessor was.
func TestMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := New()
		r.Evicts(pod("1", "a"))
		second := pod("2", "")
		r.Succeeds(second)
		second.Spec.NodeName = "b"
		r.Lands(second)
		if r.Total != (Moves{Evictions: 1}) {
			t.Errorf("after one move: %+v", r.Total)
		}
		time.Sleep(59 * time.Minute)
		r.Evicts(second)
		third := pod("3", "")
		r.Succeeds(third)
		third.Spec.NodeName = "a"
		r.Lands(third)
		if r.Total != (Moves{Evictions: 2, Again: 1, Back: 1}) {
			t.Errorf("after a second move within the hour, and back: %+v", r.Total)
		}
		time.Sleep(2 * time.Hour)
		r.Evicts(third)
		if r.Total != (Moves{Evictions: 3, Again: 1, Back: 1}) {
			t.Errorf("after a third move, later: %+v", r.Total)
		}
	})
}

// Pods that nobody replaces, or that are being deleted already, are not moved.
func TestWhatIsNoMove(t *testing.T) {
	r := New()
	single, leaving := pod("1", "a"), pod("2", "a")
	single.OwnerReferences, leaving.DeletionTimestamp = nil, &metav1.Time{}
	r.Evicts(single)
	r.Evicts(leaving)
	if r.Total != (Moves{}) {
		t.Errorf("counted %+v", r.Total)
	}
}

// A successor lives for the rest of its predecessor's time, and a new pod for its own.
func TestLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lives := func(n int) time.Duration { return time.Duration(n+1) * time.Hour }
		r := New()
		first := pod("1", "a")
		if got := r.Lifetime(first, lives); got != time.Hour {
			t.Errorf("the first pod lives for %v, want 1h", got)
		}
		time.Sleep(20 * time.Minute)
		r.Evicts(first)
		successor := pod("2", "")
		r.Succeeds(successor)
		if got := r.Lifetime(successor, lives); got != 40*time.Minute {
			t.Errorf("its successor lives for %v, want the rest of 40m", got)
		}
		if got := r.Lifetime(pod("3", ""), lives); got != 2*time.Hour {
			t.Errorf("the second pod lives for %v, want 2h", got)
		}
	})
}
