package kube

import (
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/podcache"
)

// view makes a Snapshot of the caches. It converts only pods and nodes that have changed, and makes no
// new Snapshot if nothing has.
type view struct {
	caches *caches

	mu         sync.Mutex
	generation uint64
	snapshot   *cluster.Snapshot

	pods  *converted[cluster.Pod]
	nodes *converted[cluster.Node]
}

func newView(caches *caches) *view {
	v := &view{caches: caches}
	v.pods = newConverted(caches.pods, func(p *podcache.Pod) (cluster.Pod, bool) { return p.Converted, p.Unfinished },
		func(p *cluster.Pod) cache.ObjectName { return cache.NewObjectName(p.Namespace, p.Name) })
	v.nodes = newConverted(caches.nodes, func(n *corev1.Node) (cluster.Node, bool) {
		csi, _ := get[*storagev1.CSINode](caches.csiNodes, "", n.Name)
		return cluster.FromNode(n, csi), true
	}, func(n *cluster.Node) cache.ObjectName { return cache.NewObjectName("", n.Name) })
	return v
}

// Snapshot returns the state of the cluster from the caches, sorted. It returns the same pointer until
// something changes.
func (c *Cluster) Snapshot() *cluster.Snapshot { return c.view.take() }

func (v *view) take() *cluster.Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	// The generation is read before the caches, so that the next call sees a change in between.
	generation := v.caches.generation.Load()
	if v.snapshot != nil && generation == v.generation {
		return v.snapshot
	}
	pods := v.pods.take()
	s := &cluster.Snapshot{}
	s.DaemonSets = cluster.FromDaemonSets(list[*appsv1.DaemonSet](v.caches.daemonSets), pods)
	s.Namespaces = convertAll(v.caches.namespaces, cluster.FromNamespace)
	s.Claims = convertAll(v.caches.claims, cluster.FromClaim)
	s.Volumes = convertAll(v.caches.volumes, cluster.FromVolume)
	s.StorageClasses = convertAll(v.caches.storageClasses, cluster.FromStorageClass)
	s.PodDisruptionBudgets = convertAll(v.caches.budgets, cluster.FromPodDisruptionBudget)
	s.Deployments = convertAll(v.caches.deployments, func(d *deployment) cluster.Deployment { return d.converted })
	s.Sort()
	s.SetAutoscaled(list[*autoscalingv2.HorizontalPodAutoscaler](v.caches.autoscalers))
	s.Pods, s.Nodes = pods, v.nodes.take() // sorted already
	s.SetAttached(list[*storagev1.VolumeAttachment](v.caches.attachments))
	v.snapshot, v.generation = s, generation
	return s
}

func convertAll[O metav1.Object, T any](m *mirror, convert func(O) T) []T {
	objects := list[O](m)
	out := make([]T, 0, len(objects))
	for _, o := range objects {
		out = append(out, convert(o))
	}
	return out
}

// list returns all objects of a cache.
func list[O metav1.Object](m *mirror) []O {
	items := m.informer.GetStore().List()
	out := make([]O, 0, len(items))
	for _, item := range items {
		if o, ok := item.(O); ok {
			out = append(out, o)
		}
	}
	return out
}

// get returns one object of a cache.
func get[O metav1.Object](m *mirror, namespace, name string) (O, bool) {
	var none O
	key := cache.ObjectName{Namespace: namespace, Name: name}.String()
	item, exists, err := m.informer.GetStore().GetByKey(key)
	if err != nil || !exists {
		return none, false
	}
	o, ok := item.(O)
	return o, ok
}

// budgetsOver returns the PodDisruptionBudgets that select a pod, as namespace/name, sorted.
func (v *view) budgetsOver(p *cluster.Pod) []string {
	var out []string
	for _, b := range convertAll(v.caches.budgets, cluster.FromPodDisruptionBudget) {
		if b.Selects(p.Namespace, p.Template.Labels) {
			out = append(out, b.Namespace+"/"+b.Name)
		}
	}
	slices.Sort(out)
	return out
}
