// Package survey reads a whole cluster once, without caches, for programs outside the cluster.
package survey

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// unfinished selects the pods that use resources.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

const everywhere = metav1.NamespaceAll

var all = metav1.ListOptions{}

// Take reads the cluster. If the cluster does not serve the custom resources of Packhorse or
// Karpenter, there are none.
func Take(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface) (*cluster.Survey, error) {
	core, s := client.CoreV1(), &cluster.Snapshot{}
	r := &reader{ctx: ctx, client: client, templates: cluster.NewTemplates(), snapshot: s}
	for _, read := range []func() error{
		r.pods, r.nodes, r.daemonSets,
		kind(ctx, core.Namespaces().List, &s.Namespaces, cluster.FromNamespace),
		kind(ctx, core.PersistentVolumeClaims(everywhere).List, &s.Claims, cluster.FromClaim),
		kind(ctx, core.PersistentVolumes().List, &s.Volumes, cluster.FromVolume),
		kind(ctx, client.StorageV1().StorageClasses().List, &s.StorageClasses, cluster.FromStorageClass),
		kind(ctx, client.PolicyV1().PodDisruptionBudgets(everywhere).List, &s.PodDisruptionBudgets, cluster.FromPodDisruptionBudget),
	} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("survey the cluster: %w", err)
		}
	}
	s.Sort()
	out := &cluster.Survey{Snapshot: s}
	for _, read := range []func() error{
		kind(ctx, client.SchedulingV1().PriorityClasses().List, &out.PriorityClasses, (*schedulingv1.PriorityClass).DeepCopy),
		kind(ctx, client.NodeV1().RuntimeClasses().List, &out.RuntimeClasses, (*nodev1.RuntimeClass).DeepCopy),
		kind(ctx, core.LimitRanges(everywhere).List, &out.LimitRanges, (*corev1.LimitRange).DeepCopy),
	} {
		if err := read(); apierrors.IsForbidden(err) {
			out.HiddenClasses = append(out.HiddenClasses, fmt.Sprintf("some objects of the cluster do not count for the pods of the manifests: %v", err))
		} else if err != nil {
			return nil, fmt.Errorf("survey the cluster: %w", err)
		}
	}
	if err := readCustom(ctx, client, custom, out); err != nil {
		return nil, fmt.Errorf("survey the cluster: %w", err)
	}
	return out, nil
}

// reader fills a snapshot kind by kind.
type reader struct {
	ctx       context.Context
	client    kubernetes.Interface
	templates *cluster.Templates
	snapshot  *cluster.Snapshot
}

func (r *reader) pods() error {
	options := metav1.ListOptions{FieldSelector: unfinished}
	return each(r.ctx, options, r.client.CoreV1().Pods(everywhere).List, func(pod *corev1.Pod) {
		if converted, ok := r.templates.Pod(pod); ok {
			r.snapshot.Pods = append(r.snapshot.Pods, converted)
		}
	})
}

func (r *reader) nodes() error {
	csi := map[string]*storagev1.CSINode{}
	err := each(r.ctx, all, r.client.StorageV1().CSINodes().List, func(n *storagev1.CSINode) { csi[n.Name] = n })
	if err != nil {
		return err
	}
	return each(r.ctx, all, r.client.CoreV1().Nodes().List, func(n *corev1.Node) {
		r.snapshot.Nodes = append(r.snapshot.Nodes, cluster.FromNode(n, csi[n.Name]))
	})
}

func (r *reader) daemonSets() error {
	var sets []*appsv1.DaemonSet
	err := each(r.ctx, all, r.client.AppsV1().DaemonSets(everywhere).List, func(ds *appsv1.DaemonSet) { sets = append(sets, ds) })
	r.snapshot.DaemonSets = cluster.FromDaemonSets(sets, r.snapshot.Pods)
	return err
}

// kind returns a function that reads the objects of a kind into a list, converted.
func kind[L runtime.Object, O, T any](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), out *[]T, convert func(*O) T) func() error {
	return func() error {
		return each(ctx, all, list, func(object *O) { *out = append(*out, convert(object)) })
	}
}
