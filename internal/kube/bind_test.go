package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// emptyNode creates a node that is not up, so that only we bind to it.
func emptyNode(t *testing.T, c *Cluster, name string) {
	t.Helper()
	removeNode(t, name)
	n := launching(name)
	n.OwnerReferences, n.Finalizers = nil, nil
	if _, err := c.CreateNode(t.Context(), n); err != nil {
		t.Fatal(err)
	}
}

func nodeOf(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	got, err := admin.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Spec.NodeName
}

func TestBind(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "bind-a")
	emptyNode(t, c, "bind-b")
	pod := newPod(t, ns, "web", nil)
	if err := c.Bind(t.Context(), keyOf(pod), "bind-a"); err != nil {
		t.Fatal(err)
	}
	if got := nodeOf(t, pod); got != "bind-a" {
		t.Errorf("the pod is on %q", got)
	}
	if err := c.Bind(t.Context(), keyOf(pod), "bind-a"); err != nil {
		t.Errorf("binding it again: %v", err)
	}
	if err := c.Bind(t.Context(), keyOf(pod), "bind-b"); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("binding it elsewhere: got %v, want ErrStale", err)
	}
}

func TestBindRefusesWhatHasChanged(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "bind-c")
	replaced := newPod(t, ns, "replaced", nil)
	another := keyOf(replaced)
	another.UID = "00000000-0000-0000-0000-000000000000"
	gated := newPod(t, ns, "gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/g"}} })
	leaving := newPod(t, ns, "leaving", func(p *corev1.Pod) { p.Finalizers = []string{"example.com/hold"} })
	if err := admin.CoreV1().Pods(ns).Delete(t.Context(), leaving.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := admin.CoreV1().Pods(ns).Patch(context.Background(), leaving.Name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		ignoreGone(t, err)
	})
	for name, key := range map[string]cluster.PodKey{
		"a pod that does not exist":    {Namespace: ns, Name: "absent", UID: "u"},
		"another pod of the same name": another,
		"a gated pod":                  keyOf(gated),
		"a pod that is being deleted":  keyOf(leaving),
	} {
		if err := c.Bind(t.Context(), key, "bind-c"); !errors.Is(err, cluster.ErrStale) {
			t.Errorf("%s: got %v, want ErrStale", name, err)
		}
	}
}

// TestBindLeavesReadyNodesToTheScheduler: a node may become ready while thousands of bindings wait for their turn.
func TestBindLeavesReadyNodesToTheScheduler(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "bind-g")
	bound, waiting := newPod(t, ns, "bound", nil), newPod(t, ns, "waiting", nil)
	if err := c.Bind(t.Context(), keyOf(bound), "bind-g"); err != nil {
		t.Fatal(err)
	}
	ready := []byte(`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), "bind-g", types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the caches know that the node is ready", func() error {
		s := c.Snapshot()
		if n := s.Node("bind-g"); n != nil && n.Ready && slices.ContainsFunc(s.Pods, func(p cluster.Pod) bool { return p.NodeName == "bind-g" }) {
			return nil
		}
		return errors.New("not yet")
	})
	if err := c.Bind(t.Context(), keyOf(waiting), "bind-g"); !errors.Is(err, cluster.ErrLeftToScheduler) {
		t.Errorf("got %v, want ErrLeftToScheduler", err)
	}
	if err := c.Bind(t.Context(), keyOf(bound), "bind-g"); err != nil {
		t.Errorf("a pod that is there: %v", err)
	}
}

// TestBindLeavesUnknownClaimsToTheScheduler: kube-controller-manager makes the claim of an ephemeral volume
// some time after the pod. No provisioner would know the node of one that comes after the binding.
func TestBindLeavesUnknownClaimsToTheScheduler(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "bind-f")
	pod := newPod(t, ns, "scratch", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "later"},
		}}}
	})
	planetest.Eventually(t, "the caches have the pod", func() error {
		if slices.ContainsFunc(c.Snapshot().Pods, func(p cluster.Pod) bool { return p.PodKey == keyOf(pod) }) {
			return nil
		}
		return errors.New("not yet")
	})
	if err := c.Bind(t.Context(), keyOf(pod), "bind-f"); !errors.Is(err, cluster.ErrLeftToScheduler) {
		t.Errorf("got %v, want ErrLeftToScheduler", err)
	}
}

// TestBindLeavesChosenVolumesToTheScheduler: nobody makes a volume for the claim, so that
// the pod needs a scheduler that chooses one.
func TestBindLeavesChosenVolumesToTheScheduler(t *testing.T) {
	emptyNode(t, connect(t), "bind-e")
	leftToTheScheduler(t, "bind-e", "kubernetes.io/no-provisioner", nil)
}

// TestBindLeavesVolumesThatAreThereToTheScheduler: somebody has made the volume of a database
// available again, which must not start with a new and empty one.
func TestBindLeavesVolumesThatAreThereToTheScheduler(t *testing.T) {
	emptyNode(t, connect(t), "bind-g")
	leftToTheScheduler(t, "bind-g", "example.com/disk", &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: corev1.ResourceList{"storage": resource.MustParse("1Gi")},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: "v"}},
	}})
}

// TestBindLeavesVolumesOnDisksOfNodesToTheScheduler: the driver says how much room is left on each node, and
// only the scheduler compares that with claims.
func TestBindLeavesVolumesOnDisksOfNodesToTheScheduler(t *testing.T) {
	emptyNode(t, connect(t), "bind-h")
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks.example.com"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}}
	if _, err := admin.StorageV1().CSIDrivers().Create(t.Context(), driver, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ignoreGone(t, admin.StorageV1().CSIDrivers().Delete(context.Background(), driver.Name, metav1.DeleteOptions{}))
	})
	leftToTheScheduler(t, "bind-h", driver.Name, nil)
}

// leftToTheScheduler binds a pod with an unbound claim, beside a volume.
func leftToTheScheduler(t *testing.T, node, provisioner string, volume *corev1.PersistentVolume) {
	t.Helper()
	c := connect(t)
	ns := namespace(t)
	late, name := storagev1.VolumeBindingWaitForFirstConsumer, "existing-"+ns
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &late}
	if _, err := admin.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ignoreGone(t, admin.StorageV1().StorageClasses().Delete(context.Background(), name, metav1.DeleteOptions{}))
	})
	if volume != nil {
		volume.Name, volume.Spec.StorageClassName = name, name
		if _, err := admin.CoreV1().PersistentVolumes().Create(t.Context(), volume, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ignoreGone(t, admin.CoreV1().PersistentVolumes().Delete(context.Background(), name, metav1.DeleteOptions{}))
		})
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
	}}
	if _, err := admin.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := newPod(t, ns, "db", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
	})
	planetest.Eventually(t, "the caches have all of it", func() error {
		s := c.Snapshot()
		seen := slices.ContainsFunc(s.Pods, func(p cluster.Pod) bool { return p.PodKey == keyOf(pod) }) &&
			slices.ContainsFunc(s.Claims, func(c cluster.Claim) bool { return c.Namespace == ns }) &&
			slices.ContainsFunc(s.StorageClasses, func(c cluster.StorageClass) bool { return c.Name == name }) &&
			(volume == nil || slices.ContainsFunc(s.Volumes, func(v cluster.Volume) bool { return v.Name == name }))
		if seen {
			return nil
		}
		return errors.New("not yet")
	})
	if err := c.Bind(t.Context(), keyOf(pod), node); !errors.Is(err, cluster.ErrLeftToScheduler) {
		t.Errorf("got %v, want ErrLeftToScheduler", err)
	}
	got, err := admin.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), claim.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if at, selected := got.Annotations[cluster.SelectedNode]; selected {
		t.Errorf("node %s is selected for the claim", at)
	}
}

func TestBindSelectsTheNodeForUnboundClaims(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "bind-d")
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late-" + ns}, Provisioner: "example.com/disk", VolumeBindingMode: &late}
	if _, err := admin.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ignoreGone(t, admin.StorageV1().StorageClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}))
	})
	claim := func(name, class string) {
		_, err := admin.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	claim("late", class.Name)
	claim("static", "")
	pod := newPod(t, ns, "db", func(p *corev1.Pod) {
		for _, name := range []string{"late", "static"} {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	})
	planetest.Eventually(t, "the caches have all of it", func() error {
		s := c.Snapshot()
		for _, p := range s.Pods {
			if p.PodKey == keyOf(pod) && len(s.StorageClasses) > 0 && len(s.Claims) >= 2 {
				return nil
			}
		}
		return errors.New("not yet")
	})
	claims := admin.CoreV1().PersistentVolumeClaims(ns)
	selects := func(node string) {
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, cluster.SelectedNode, node)
		if _, err := claims.Patch(t.Context(), "late", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		planetest.Eventually(t, "the caches have it", func() error {
			if _, ok := get[*corev1.Node](c.caches.nodes, "", "bind-e"); !ok {
				return errors.New("no node yet")
			}
			if claim, ok := get[*corev1.PersistentVolumeClaim](c.caches.claims, ns, "late"); !ok || claim.Annotations[cluster.SelectedNode] != node {
				return errors.New("not yet")
			}
			return nil
		})
	}

	// The volume may be in the making for the node that the scheduler has selected.
	emptyNode(t, c, "bind-e")
	selects("bind-e")
	if err := c.Bind(t.Context(), keyOf(pod), "bind-d"); !errors.Is(err, cluster.ErrLeftToScheduler) {
		t.Errorf("with another node selected: got %v, want %v", err, cluster.ErrLeftToScheduler)
	}
	if got, err := claims.Get(t.Context(), "late", metav1.GetOptions{}); err != nil || got.Annotations[cluster.SelectedNode] != "bind-e" {
		t.Errorf("got annotations %v, error %v; want bind-e as the scheduler has selected", got.Annotations, err)
	}

	selects("bind-gone") // such as a node that was replaced
	if err := c.Bind(t.Context(), keyOf(pod), "bind-d"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"late": "bind-d", "static": ""} {
		got, err := admin.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Annotations[cluster.SelectedNode] != want {
			t.Errorf("claim %s: got annotations %v, want %q", name, got.Annotations, want)
		}
	}

	// An external provisioner takes the node off the claim. Another binding selects it again.
	if _, err := claims.Patch(t.Context(), "late", types.MergePatchType, []byte(`{"metadata":{"annotations":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the node is selected again", func() error {
		if err := c.Bind(t.Context(), keyOf(pod), "bind-d"); err != nil {
			t.Fatal(err)
		}
		got, err := claims.Get(t.Context(), "late", metav1.GetOptions{})
		if err == nil && got.Annotations[cluster.SelectedNode] != "bind-d" {
			err = fmt.Errorf("annotations %v", got.Annotations)
		}
		return err
	})
}

func TestDeletePod(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	pod := newPod(t, ns, "web", nil)
	another := keyOf(pod)
	another.UID = "00000000-0000-0000-0000-000000000000"
	if err := c.DeletePod(t.Context(), another, 0); err != nil {
		t.Errorf("a pod of another UID: %v", err)
	}
	if got, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{}); err != nil || isDisrupted(got) {
		t.Fatalf("the wrong pod was deleted or changed: %v, %v", got.Status.Conditions, err)
	}
	if err := c.DeletePod(t.Context(), keyOf(pod), 0); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the pod goes", func() error {
		_, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there (%w)", err)
	})
	if err := c.DeletePod(t.Context(), keyOf(pod), 0); err != nil {
		t.Errorf("a pod that is gone: %v", err)
	}
}

func isDisrupted(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

// The time that a pod may take to stop can be made shorter, also once it is being deleted.
func TestDeletePodWithin(t *testing.T) {
	c := connect(t)
	pod := newPod(t, namespace(t), "web", func(p *corev1.Pod) {
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = "none", ptr.To[int64](315360000)
	})
	for _, s := range []struct{ within, want time.Duration }{{0, 315360000 * time.Second}, {time.Hour, time.Hour}, {90*time.Second + 1, 90 * time.Second}, {1, time.Second}} {
		if err := c.DeletePod(t.Context(), keyOf(pod), s.within); err != nil {
			t.Fatal(err)
		}
		got, err := admin.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if seconds := ptr.Deref(got.DeletionGracePeriodSeconds, 0); time.Duration(seconds)*time.Second != s.want {
			t.Errorf("within %s: it may take %d s, want %s", s.within, seconds, s.want)
		}
		// Otherwise the podFailurePolicy of a Job would take it for a failure of the program.
		if !isDisrupted(got) {
			t.Errorf("within %s: conditions %v, want DisruptionTarget", s.within, got.Status.Conditions)
		}
	}
}

// A pod that has changed since it was seen stays: a kubelet may have started it.
func TestRemovePod(t *testing.T) {
	c := connect(t)
	// The default scheduler would change the pod's conditions.
	pod := newPod(t, namespace(t), "web", func(p *corev1.Pod) { p.Spec.SchedulerName = "none" })
	seen := cluster.Pod{PodKey: keyOf(pod), Version: pod.ResourceVersion}
	pod.Status.Phase = corev1.PodRunning
	pod, err := admin.CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.RemovePod(t.Context(), &seen); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("a pod that runs by now: error = %v, want %v", err, cluster.ErrStale)
	}
	seen.Version = pod.ResourceVersion
	for _, what := range []string{"a pod as it is", "a pod that is gone"} {
		if err := c.RemovePod(t.Context(), &seen); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := admin.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("%s: error = %v, want that it is not found", what, err)
		}
	}
	another := seen
	another.UID = "00000000-0000-0000-0000-000000000000"
	newPod(t, pod.Namespace, pod.Name, nil)
	if err := c.RemovePod(t.Context(), &another); err != nil {
		t.Errorf("a pod of another UID: %v", err)
	}
}
