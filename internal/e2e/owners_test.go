package e2e

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// claimsAndOwners runs a StatefulSet whose volumes wait for their first consumer,
// and a Job.
func claimsAndOwners(s *scene) {
	s.apply(provisioner("stateful", "labels: {purpose: stateful}"))
	s.apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: database}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: database
  selector: {matchLabels: {app: database}}
  template:
    metadata: {labels: {app: database}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {karpenter.sh/provisioner-name: stateful}
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 200m, memory: 128Mi}}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {karpenter.sh/provisioner-name: stateful}
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 200m, memory: 128Mi}}}
`)
	s.untilRunning("database", 2)
	s.until("the Job is done", func(ctx context.Context) (bool, string, error) {
		j, err := s.Kube.BatchV1().Jobs(metav1.NamespaceDefault).Get(ctx, "report", metav1.GetOptions{})
		return err == nil && j.Status.Succeeded == 2, fmt.Sprintf("%+v", j.Status), err
	})
	s.checkClaims("database", 2)
	ctx := s.t.Context()
	background := metav1.DeletePropagationBackground
	for what, err := range map[string]error{
		"StatefulSet":  s.Kube.AppsV1().StatefulSets(metav1.NamespaceDefault).Delete(ctx, "database", metav1.DeleteOptions{}),
		"Job":          s.Kube.BatchV1().Jobs(metav1.NamespaceDefault).Delete(ctx, "report", metav1.DeleteOptions{PropagationPolicy: &background}),
		"claims":       s.Kube.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
		"StorageClass": s.Kube.StorageV1().StorageClasses().Delete(ctx, "late", metav1.DeleteOptions{}),
	} {
		if err != nil {
			s.t.Errorf("delete the %s: %v", what, err)
		}
	}
	s.deleteProvisioner("stateful")
	s.untilNoNodes("stateful")
}

// checkClaims wants each of an app's claims to name its pod's node, for whoever makes
// the volumes.
func (s *scene) checkClaims(app string, count int) {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), "app="+app)
	if err != nil || len(pods) != count {
		s.t.Fatalf("%d pods of %s, %v", len(pods), app, err)
	}
	for _, p := range pods {
		claim, err := s.Kube.CoreV1().PersistentVolumeClaims(p.Namespace).Get(s.t.Context(), "data-"+p.Name, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		if node := claim.Annotations["volume.kubernetes.io/selected-node"]; node != p.Spec.NodeName {
			s.t.Errorf("claim %s is told of node %q, its pod is on %s", claim.Name, node, p.Spec.NodeName)
		}
	}
}

// startupTaintEvicts has a network plugin that keeps pods off its nodes, and evicts those that are there, until it
// runs. One machine is bought for the pod, which is bound once the taint is gone.
func startupTaintEvicts(s *scene) {
	s.apply(provisioner("taint", "labels: {purpose: taint}\nstartupTaints: [{key: "+hold+", effect: NoExecute}]"))
	s.apply(deployment("plugged", "taint", 1, "500m", "256Mi"))
	s.until("a node is ready", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "taint")
		ready := func(n corev1.Node) bool { return cluster.FromNode(&n, nil).Ready }
		return slices.ContainsFunc(nodes, ready), fmt.Sprintf("%d nodes", len(nodes)), err
	})
	pods, err := s.pods(s.t.Context(), "app=plugged")
	if err != nil {
		s.t.Fatal(err)
	}
	if len(pods) != 1 || pods[0].Spec.NodeName != "" || pods[0].DeletionTimestamp != nil {
		s.t.Errorf("%d pods, the first on node %q, want one on none", len(pods), pods[0].Spec.NodeName)
	}
	s.until("the pod runs", func(ctx context.Context) (bool, string, error) {
		s.release(ctx, "taint")
		pods, err := s.pods(ctx, "app=plugged")
		return len(pods) == 1 && pods[0].Status.Phase == corev1.PodRunning, fmt.Sprintf("%d pods", len(pods)), err
	})
	if got := s.live("taint"); got != 1 {
		s.t.Errorf("%d machines, want one", got)
	}
	s.delete("plugged")
	s.deleteProvisioner("taint")
}
