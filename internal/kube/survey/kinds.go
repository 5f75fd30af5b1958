package survey

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

var all = metav1.ListOptions{}

func (r *reader) daemonSets() error {
	var sets []*appsv1.DaemonSet
	err := each(r.ctx, all, r.client.AppsV1().DaemonSets(metav1.NamespaceAll).List, func(ds *appsv1.DaemonSet) { sets = append(sets, ds) })
	r.snapshot.DaemonSets = cluster.FromDaemonSets(sets, r.snapshot.Pods)
	return err
}

func (r *reader) namespaces() error {
	return each(r.ctx, all, r.client.CoreV1().Namespaces().List, func(ns *corev1.Namespace) {
		r.snapshot.Namespaces = append(r.snapshot.Namespaces, cluster.FromNamespace(ns))
	})
}

func (r *reader) storage() error {
	err := each(r.ctx, all, r.client.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List, func(c *corev1.PersistentVolumeClaim) {
		r.snapshot.Claims = append(r.snapshot.Claims, cluster.FromClaim(c))
	})
	if err != nil {
		return err
	}
	err = each(r.ctx, all, r.client.CoreV1().PersistentVolumes().List, func(v *corev1.PersistentVolume) {
		r.snapshot.Volumes = append(r.snapshot.Volumes, cluster.FromVolume(v))
	})
	if err != nil {
		return err
	}
	return each(r.ctx, all, r.client.StorageV1().StorageClasses().List, func(c *storagev1.StorageClass) {
		r.snapshot.StorageClasses = append(r.snapshot.StorageClasses, cluster.FromStorageClass(c))
	})
}

func (r *reader) budgets() error {
	return each(r.ctx, all, r.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll).List, func(b *policyv1.PodDisruptionBudget) {
		r.snapshot.DisruptionBudgets = append(r.snapshot.DisruptionBudgets, cluster.FromDisruptionBudget(b))
	})
}
