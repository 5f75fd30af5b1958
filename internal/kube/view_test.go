package kube

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/podcache"
)

// detached returns a Cluster whose caches nobody fills but the test.
func detached(t testing.TB) *Cluster {
	t.Helper()
	c, err := New(adminConfig, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// toStore is what the caches of all tests hold of an object.
var toStore = podcache.Transform(cluster.NewTemplates())

func put(t testing.TB, m *mirror, object any) {
	t.Helper()
	object, err := toStore(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.informer.GetStore().Add(object); err != nil {
		t.Fatal(err)
	}
	m.changes.add(object)
}

func remove(t testing.TB, m *mirror, object any) {
	t.Helper()
	if err := m.informer.GetStore().Delete(object); err != nil {
		t.Fatal(err)
	}
	m.changes.add(object)
}

// fullPod has a bit of everything that a pod of a real cluster has.
func fullPod(ns, name string, owner metav1.OwnerReference) *corev1.Pod {
	always, class := corev1.ContainerRestartPolicyAlways, "fast"
	cpu := corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, UID: types.UID(ns + "/" + name), ResourceVersion: "1",
			Labels:          map[string]string{"app": "web"},
			Annotations:     map[string]string{api.AnnotationDoNotEvict: "true", "other": "x"},
			OwnerReferences: []metav1.OwnerReference{owner},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: corev1.PodSpec{
			NodeName:          "n1",
			NodeSelector:      map[string]string{"a": "b"},
			Affinity:          &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}},
			Tolerations:       []corev1.Toleration{{Key: "k"}},
			HostNetwork:       true,
			PriorityClassName: "system-node-critical",
			SchedulerName:     "default-scheduler",
			Overhead:          corev1.ResourceList{"memory": resource.MustParse("10Mi")},
			ResourceClaims:    []corev1.PodResourceClaim{{Name: "r"}},
			InitContainers:    []corev1.Container{{Name: "s", RestartPolicy: &always, Resources: cpu}},
			Containers: []corev1.Container{{
				Name: "c", Image: "i", Resources: cpu, Env: []corev1.EnvVar{{Name: "E"}},
				Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}},
			Volumes: []corev1.Volume{
				{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
				{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
				}}},
			},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			NominatedNodeName: "n0",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
				{Type: corev1.PodResizePending, Reason: corev1.PodReasonInfeasible},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "c", Image: "i", Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}},
			}},
		},
	}
}

func TestTrimLosesNothingThatIsRead(t *testing.T) {
	usual := fullPod("shop", "web", metav1.OwnerReference{}).Spec
	if spec := trimPodSpec(&usual); spec.Containers[0].Env != nil || len(spec.Volumes) != 2 {
		t.Errorf("too much is kept: %+v", spec)
	}
	ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "3"}}}
	ds.Spec.Template.Spec = usual
	fill(reflect.ValueOf(&ds.Spec.Template.Spec).Elem())
	ofIt := cluster.Template{DaemonSet: true, Labels: map[string]string{"pod-template-generation": "3"}, Requests: amount.List{amount.CPU: 1}}
	bound := []cluster.Pod{{PodKey: cluster.PodKey{Namespace: "shop"}, NodeName: "n", Owner: cluster.Owner{Name: "web"}, Template: &ofIt}}
	whole := cluster.FromDaemonSets([]*appsv1.DaemonSet{ds}, bound)
	trimmed, err := trim(ds.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	after := trimmed.(*appsv1.DaemonSet)
	if diff := cmp.Diff(whole, cluster.FromDaemonSets([]*appsv1.DaemonSet{after}, bound)); diff != "" {
		t.Errorf("DaemonSet: -whole +trimmed\n%s", diff)
	}
}

// fill gives each field that is not set a value, so that the tests also see the fields of later
// releases of Kubernetes.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if q, ok := reflect.TypeAssert[*resource.Quantity](v.Addr()); ok {
			*q = resource.MustParse("1")
			return
		} else if _, ok := reflect.TypeAssert[*metav1.Time](v.Addr()); ok {
			return
		}
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key)
			fill(value)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if v.IsZero() {
			v.SetString("cpu")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	}
}

func TestTrimmedNode(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
		Status: corev1.NodeStatus{
			Capacity:        corev1.ResourceList{"cpu": resource.MustParse("4")},
			Allocatable:     corev1.ResourceList{"cpu": resource.MustParse("3")},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1, 0)},
			},
			Images: []corev1.ContainerImage{{Names: []string{"i"}}},
		},
	}
	whole := cluster.FromNode(node.DeepCopy(), nil)
	trimmed, err := trim(node)
	if err != nil {
		t.Fatal(err)
	}
	if !whole.Ready || whole.AttachedVolumes != 1 || trimmed.(*corev1.Node).Status.Images != nil {
		t.Errorf("got %+v of %+v", whole, trimmed)
	}
	if diff := cmp.Diff(whole, cluster.FromNode(trimmed.(*corev1.Node), nil)); diff != "" {
		t.Errorf("-whole +trimmed\n%s", diff)
	}
}

// The clock of a machine may be an hour behind. The API server notes when it got each report of the kubelet.
func TestUnreadySinceByTheClockOfTheAPIServer(t *testing.T) {
	config := rest.CopyConfig(adminConfig)
	config.UserAgent = "kubelet/v1.35.0 (linux/amd64)"
	nodes := kubernetes.NewForConfigOrDie(config).CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "slow-clock", Labels: map[string]string{"a": "b"}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nodes.Delete(context.WithoutCancel(t.Context()), node.Name, metav1.DeleteOptions{}) })
	report := time.Now().Add(-time.Hour)
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		LastHeartbeatTime: metav1.NewTime(report), LastTransitionTime: metav1.NewTime(report),
	}}
	node.ResourceVersion = "" // a controller may have changed the node meanwhile
	if node, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	trimmed, err := trim(node)
	if err != nil {
		t.Fatal(err)
	}
	if since := cluster.FromNode(trimmed.(*corev1.Node), nil).UnreadySince; since.Sub(report) < 30*time.Minute {
		t.Errorf("not ready since %s, by the clock of the kubelet, which is an hour behind", since)
	}
	if len(node.ManagedFields) > 0 {
		t.Errorf("the caches hold %v", node.ManagedFields)
	}
}

// Only pods that are on no node are looked at as soon as they change.
func TestUnbound(t *testing.T) {
	homeless := fullPod("a", "homeless", metav1.OwnerReference{})
	homeless.Spec.NodeName = ""
	waits, err := toStore(homeless)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := toStore(fullPod("a", "placed", metav1.OwnerReference{}))
	if err != nil {
		t.Fatal(err)
	}
	for object, want := range map[any]bool{
		waits: true, runs: false, &corev1.Node{}: false,
		cache.DeletedFinalStateUnknown{Obj: waits}: true, cache.DeletedFinalStateUnknown{Obj: runs}: false,
	} {
		if got := unbound(object); got != want {
			t.Errorf("%T %+v = %v, want %v", object, object, got, want)
		}
	}
}

func TestSnapshotIsTheSameUntilSomethingChanges(t *testing.T) {
	c := detached(t)
	put(t, c.caches.pods, fullPod("shop", "b", metav1.OwnerReference{}))
	first := c.Snapshot()
	if c.Snapshot() != first {
		t.Error("nothing changed, but it was taken again")
	}
	put(t, c.caches.pods, fullPod("shop", "a", metav1.OwnerReference{}))
	put(t, c.caches.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1", ResourceVersion: "1"}})
	c.caches.dirty()
	second := c.Snapshot()
	if second == first || len(second.Pods) != 2 || second.Pods[0].Name != "a" || len(second.Nodes) != 1 {
		t.Errorf("got pods %v and nodes %v", second.Pods, second.Nodes)
	}
	if len(first.Pods) != 1 {
		t.Error("the earlier snapshot changed")
	}

	changed := fullPod("shop", "a", metav1.OwnerReference{})
	changed.ResourceVersion, changed.Spec.NodeName = "2", "n2"
	put(t, c.caches.pods, changed)
	c.caches.dirty()
	if got := c.Snapshot().Pods[0].NodeName; got != "n2" {
		t.Errorf("a new version of a pod is not seen: it is on %s", got)
	}

	remove(t, c.caches.pods, changed)
	put(t, c.caches.pods, fullPod("shop", "c", metav1.OwnerReference{}))
	put(t, c.caches.pods, fullPod("a", "z", metav1.OwnerReference{}))
	put(t, c.caches.csiNodes, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "ebs", Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](25)}}}},
	})
	c.caches.dirty()
	var names []string
	last := c.Snapshot()
	for _, p := range last.Pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	if want := []string{"a/z", "shop/b", "shop/c"}; !slices.Equal(names, want) {
		t.Errorf("pods %v are left, want %v", names, want)
	}
	if got := last.Nodes[0].VolumeLimits["ebs"]; got != 25 {
		t.Errorf("the node takes %d volumes, want 25 as its CSINode says", got)
	}
}

// A replica that does not lead takes no snapshot, for weeks in which pods come and go.
func TestChangesOfWeeksTakeLittleMemory(t *testing.T) {
	c := detached(t)
	for _, name := range []string{"stays", "goes"} {
		put(t, c.caches.pods, fullPod("shop", name, metav1.OwnerReference{}))
	}
	c.Snapshot()
	remove(t, c.caches.pods, fullPod("shop", "goes", metav1.OwnerReference{}))
	for i := range 3 * maxChanges {
		c.caches.pods.changes.add(fullPod("ci", fmt.Sprint(i), metav1.OwnerReference{}))
		if got := len(c.caches.pods.changes.names); got > maxChanges {
			t.Fatalf("%d names are kept, want at most %d", got, maxChanges)
		}
	}
	put(t, c.caches.pods, fullPod("shop", "comes", metav1.OwnerReference{}))
	snapshotHas := func(want ...string) {
		t.Helper()
		c.caches.dirty()
		var names []string
		for _, p := range c.Snapshot().Pods {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("the snapshot has the pods %q, want %q", names, want)
		}
	}
	snapshotHas("comes", "stays")
	put(t, c.caches.pods, fullPod("shop", "is-next", metav1.OwnerReference{}))
	snapshotHas("comes", "is-next", "stays")
}

func TestNewestPodOfADaemonSetCounts(t *testing.T) {
	c := detached(t)
	yes := true
	owner := metav1.OwnerReference{Kind: "DaemonSet", Name: "logs", UID: "ds", Controller: &yes}
	for i, cpu := range []string{"1", "3", "2"} {
		p := fullPod("kube-system", fmt.Sprintf("logs-%d", i), owner)
		p.CreationTimestamp = metav1.NewTime(time.Unix(int64(len(cpu)*100+[]int{1, 3, 2}[i]), 0))
		p.Status.ContainerStatuses, p.Spec.InitContainers = nil, nil
		p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse(cpu)
		put(t, c.caches.pods, p)
	}
	put(t, c.caches.daemonSets, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "logs", UID: "ds"}})
	if got := c.Snapshot().DaemonSets[0].Template.Requests["cpu"]; got != 3000 {
		t.Errorf("got %d, want the 3000 of the newest pod", got)
	}
}

// BenchmarkSnapshot is a turn in which one pod of 10,000 changed, on 1,000 nodes.
func BenchmarkSnapshot(b *testing.B) {
	c := detached(b)
	yes := true
	for i := range 10_000 {
		set := fmt.Sprintf("set-%d", i%200)
		p := fullPod("shop", fmt.Sprintf("%s-%d", set, i), metav1.OwnerReference{Kind: "ReplicaSet", Name: set, UID: types.UID(set), Controller: &yes})
		p.Labels["app"] = set
		p.Spec.Volumes = nil
		put(b, c.caches.pods, p)
	}
	for i := range 1000 {
		name := fmt.Sprintf("node-%d", i)
		put(b, c.caches.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}})
	}
	c.Snapshot()
	version := 1
	for b.Loop() {
		version++
		p := fullPod("shop", "set-0-0", metav1.OwnerReference{})
		p.ResourceVersion = fmt.Sprint(version)
		put(b, c.caches.pods, p)
		c.caches.dirty()
		c.Snapshot()
	}
}
