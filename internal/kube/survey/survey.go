// Package survey reads a whole cluster once, without caches, for programs outside the cluster.
package survey

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// unfinished selects the pods that use resources.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

// Take reads the cluster. If the cluster does not serve the custom resources of Packhorse or
// Karpenter, there are none.
func Take(ctx context.Context, client kubernetes.Interface, custom dynamic.Interface) (*cluster.Survey, error) {
	r := &reader{ctx: ctx, client: client, templates: cluster.NewTemplates(), snapshot: &cluster.Snapshot{}}
	for _, step := range []func() error{r.pods, r.nodes, r.daemonSets, r.namespaces, r.storage, r.budgets} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("survey the cluster: %w", err)
		}
	}
	r.snapshot.Sort()
	out := &cluster.Survey{Snapshot: r.snapshot}
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
	return each(r.ctx, options, r.client.CoreV1().Pods(metav1.NamespaceAll).List, func(pod *corev1.Pod) {
		if converted, ok := r.templates.Pod(pod); ok {
			r.snapshot.Pods = append(r.snapshot.Pods, converted)
		}
	})
}

func (r *reader) nodes() error {
	csi := map[string]*storagev1.CSINode{}
	err := each(r.ctx, metav1.ListOptions{}, r.client.StorageV1().CSINodes().List, func(n *storagev1.CSINode) { csi[n.Name] = n })
	if err != nil {
		return err
	}
	return each(r.ctx, metav1.ListOptions{}, r.client.CoreV1().Nodes().List, func(n *corev1.Node) {
		r.snapshot.Nodes = append(r.snapshot.Nodes, cluster.FromNode(n, csi[n.Name]))
	})
}
