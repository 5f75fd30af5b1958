package lease

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// The tests share one real control plane, as an administrator.
var (
	adminConfig *rest.Config
	admin       kubernetes.Interface
)

func TestMain(m *testing.M) {
	os.Exit(planetest.Main(m, func(p *plane.Plane) error {
		adminConfig = p.RESTConfig()
		admin = kubernetes.NewForConfigOrDie(adminConfig)
		return nil
	}))
}

// namespace makes a namespace of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

func leaseOf(holder string, renewed time.Time) coordinationv1.Lease {
	return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, RenewTime: ptr.To(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: ptr.To[int32](15),
	}}
}

// A holder leads for as long as its Lease is renewed, whatever its clock says. Its Lease may be free
// for a while until another replica takes it.
func TestWatch(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	leases := func(holder string, renewed int) []coordinationv1.Lease {
		lease := leaseOf(holder, at(renewed))
		lease.Namespace = "kube-system"
		return []coordinationv1.Lease{lease}
	}
	held := func(renewed int) []coordinationv1.Lease { return leases("karpenter-1", renewed) }
	free := leases("", 0)
	w := NewWatch(nil, "karpenter")
	if _, known := w.Leads(start); known {
		t.Error("nobody has looked, and it is known who leads")
	}
	for _, step := range []struct {
		now   int
		lease []coordinationv1.Lease
		leads bool
	}{
		{0, free, true}, // nobody knows since when
		{14, free, true},
		{15, free, false},
		{20, held(-3600), true}, // renewed an hour ago by its clock, and seen for the first time
		{22, held(-3598), true},
		{36, held(-3598), true},
		{37, held(-3598), false}, // 15 seconds without a renewal
		{40, held(-3580), true},  // it is back
		{42, free, true},         // released, for the next replica
		{101, free, true},
		{102, free, false},
		{110, leases("karpenter-2", 110), true},
		{112, nil, true}, // deleted
		{171, nil, true},
		{172, nil, false},
		{174, free, false}, // as free as it was
	} {
		w.see(step.lease, at(step.now), at(step.now))
		if holder, known := w.Leads(at(step.now)); !known || (holder != "") != step.leads {
			t.Errorf("after %d s: %q, want that it leads: %t", step.now, holder, step.leads)
		}
	}
	if _, known := w.Leads(at(174 + 61)); known {
		t.Error("nobody has looked for a minute, and it is known who leads")
	}
}

// A Lease that cannot be read may be renewed all the same, and an answer that comes late is old.
func TestWatchWithoutAnAnswer(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	lease := leaseOf("karpenter-1", start)
	lease.Namespace = "kube-system"
	w := NewWatch(nil, "karpenter")
	w.see([]coordinationv1.Lease{lease}, start, start.Add(time.Second))
	for _, after := range []time.Duration{16 * time.Second, outdatedAfter} {
		if holder, known := w.Leads(start.Add(after)); holder == "" && known {
			t.Errorf("%s after the last answer, nobody leads", after)
		}
	}
	w.see([]coordinationv1.Lease{lease}, start.Add(2*time.Second), start.Add(40*time.Second))
	if holder, known := w.Leads(start.Add(40 * time.Second)); holder == "" && known {
		t.Error("what was asked after two seconds shows that the Lease has run out")
	}
	if _, known := w.living(); known {
		t.Error("what was asked after two seconds shows that the holder is dead")
	}
}

// Somebody who names a cluster that is gone is told which flag names another.
func TestHolderNamesTheFlag(t *testing.T) {
	gone := &rest.Config{Host: "https://127.0.0.1:1"}
	if _, err := Holder(t.Context(), gone, "karpenter"); err == nil || !strings.Contains(err.Error(), "https://127.0.0.1:1 does not answer; choose another with --kubeconfig") {
		t.Errorf("of a cluster that is gone: %v", err)
	}
}

// Somebody holds a Lease only if they renew it.
func TestHolder(t *testing.T) {
	const name = "held-by-nobody"
	if holder, err := Holder(t.Context(), adminConfig, name); err != nil || holder != "" {
		t.Errorf("without a Lease: %q, %v", holder, err)
	}
	lease := leaseOf("karpenter-1", time.Now())
	lease.Name, lease.Spec.LeaseDurationSeconds = name, ptr.To[int32](1)
	leases := admin.CoordinationV1().Leases("kube-system")
	there, err := leases.Create(t.Context(), &lease, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder, err := Holder(t.Context(), adminConfig, name); err != nil || holder != "" {
		t.Errorf("nobody renews it: %q, %v", holder, err)
	}
	there.Spec.LeaseDurationSeconds = ptr.To[int32](60)
	if there, err = leases.Update(t.Context(), there, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			there.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now()))
			if renewed, err := leases.Update(ctx, there, metav1.UpdateOptions{}); err == nil {
				there = renewed
			}
		}
	}()
	if holder, err := Holder(t.Context(), adminConfig, name); err != nil || holder != "karpenter-1 renews the Lease kube-system/"+name {
		t.Errorf("somebody renews it: %q, %v", holder, err)
	}
}
