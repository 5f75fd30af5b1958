package manifest

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// snapshot converts everything read so far.
func (b *Builder) snapshot() *cluster.Snapshot {
	s := &cluster.Snapshot{}
	classes, said, idle := priorities(slices.Concat(b.live.PriorityClasses, b.objects.priorityClasses)), &remarks{}, &remarks{}
	b.objects.addStorage(s)
	storage := declared(slices.Concat(b.live.Snapshot.StorageClasses, s.StorageClasses))
	for _, pod := range b.objects.pods {
		object := "Pod " + pod.Namespace + "/" + pod.Name
		classes.set(&pod.Spec, object, "spec", said)
		storage.checkPod(&pod.Spec, pod.UID == "", object, "spec", said)
		if untouched(pod) {
			b.admit(&pod.Spec, pod.Namespace, object, "spec", said)
			create(pod)
		}
		if converted, ok := b.templates.Pod(pod); ok {
			said.addWaiting(&converted, &pod.Spec, object, "spec")
			s.Pods = append(s.Pods, converted)
		} else {
			idle.add(object, "status.phase", "says that the pod has finished", "")
		}
	}
	newest := newestPods(b.live.Snapshot.Pods, s.Pods)
	for _, w := range b.objects.workloads() {
		if w.edited != "" {
			said.add(w.object, w.edited, "some of its pods exist with another specification, and count as they are", "to plan for its template, leave out these pods or give it another name")
		}
		if w.count <= 0 {
			if w.idle != "" {
				idle.add(w.object, w.idleAt, w.idle, "")
			}
			continue
		}
		if w.count > maxPods {
			doc := b.seen[w.object]
			b.fail(doc, refused(w.counted, fmt.Sprintf("%d pods are to be created, at most %d are read", w.count, maxPods), ""))
			continue
		}
		classes.set(&w.template.Spec, w.object, w.spec, said)
		storage.checkPod(&w.template.Spec, true, w.object, w.spec, said)
		b.admit(&w.template.Spec, w.namespace, w.object, w.spec, said)
		for i := range w.claims {
			storage.check(&w.claims[i].Spec, true, w.object, fmt.Sprintf("spec.volumeClaimTemplates[%d].spec", i), said)
		}
		w.join(newest, b.templates)
		pods := w.pods(b.templates)
		said.addWaiting(&pods[0], &w.template.Spec, w.object, w.spec)
		s.Pods = append(s.Pods, pods...)
		s.Claims = append(s.Claims, w.missingClaims(b.objects.claims)...)
	}
	b.objects.addNodes(s)
	for _, c := range b.objects.claims {
		storage.check(&c.Spec, c.UID == "", "PersistentVolumeClaim "+c.Namespace+"/"+c.Name, "spec", said)
	}
	b.objects.addNamespaces(s)
	for _, ds := range b.objects.daemonSets {
		object := "DaemonSet " + ds.Namespace + "/" + ds.Name
		classes.set(&ds.Spec.Template.Spec, object, "spec.template.spec", said)
		b.admit(&ds.Spec.Template.Spec, ds.Namespace, object, "spec.template.spec", said)
		delete(ds.Annotations, appsv1.DeprecatedTemplateGeneration) // the template may have been edited since
		idle.add(object, "", "its pods come with the nodes that other pods need, so no machine is bought for them", "")
	}
	b.remark(said)
	if len(s.Pods) == 0 {
		b.remark(idle)
	}
	b.objects.addDeployments(s)
	s.DaemonSets = cluster.FromDaemonSets(b.objects.daemonSets, s.Pods)
	s.PodDisruptionBudgets = PodDisruptionBudgets(b.objects.budgets, s.Pods)
	s.Sort()
	return s
}

// untouched reports whether a pod is a plain manifest, which no scheduler has
// looked at.
func untouched(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.Status.Phase == "" &&
		len(pod.Status.Conditions) == 0 && pod.Status.NominatedNodeName == ""
}

// create does to a new pod what EKS does at its creation, and the scheduler if it fits no node.
func create(pod *corev1.Pod) {
	tolerateDevices(&pod.Spec)
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
}

// addNodes converts nodes. One that is written by hand, without conditions, is
// taken for ready, and its capacity for allocatable where that is not given.
func (o *objects) addNodes(s *cluster.Snapshot) {
	csi := map[string]*storagev1.CSINode{}
	for _, c := range o.csiNodes {
		csi[c.Name] = c
	}
	for _, node := range o.nodes {
		if node.Status.Allocatable == nil {
			node.Status.Allocatable = node.Status.Capacity
		}
		if node.Status.Conditions == nil {
			node.Status.Conditions = []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: node.CreationTimestamp,
			}}
		}
		s.Nodes = append(s.Nodes, cluster.FromNode(node, csi[node.Name]))
	}
}

func (o *objects) addDeployments(s *cluster.Snapshot) {
	for _, d := range o.deployments {
		s.Deployments = append(s.Deployments, deployment(d))
	}
}

func (o *objects) addStorage(s *cluster.Snapshot) {
	for _, c := range o.claims {
		s.Claims = append(s.Claims, cluster.FromClaim(c))
	}
	for _, v := range o.volumes {
		s.Volumes = append(s.Volumes, cluster.FromVolume(v))
	}
	for _, c := range o.storageClasses {
		s.StorageClasses = append(s.StorageClasses, cluster.FromStorageClass(c))
	}
}

// addNamespaces converts namespaces and adds those that are only referred to,
// all with the label that the API server gives them.
func (o *objects) addNamespaces(s *cluster.Snapshot) {
	labels := map[string]map[string]string{}
	for p := range s.EachPod() {
		if labels[p.Namespace] == nil {
			labels[p.Namespace] = map[string]string{corev1.LabelMetadataName: p.Namespace}
		}
	}
	for _, ns := range o.namespaces {
		all := map[string]string{corev1.LabelMetadataName: ns.Name}
		maps.Copy(all, ns.Labels)
		labels[ns.Name] = all
	}
	for name, l := range labels {
		s.Namespaces = append(s.Namespaces, cluster.Namespace{Name: name, Labels: l})
	}
}
