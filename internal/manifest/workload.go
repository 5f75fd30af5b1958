package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// maxPods bounds the pods of one workload or row of a table, against a mistyped
// figure that would take all memory.
const maxPods = 1_000_000

// workload is a controller with the pods that it has still to create.
type workload struct {
	object    string // that declares it, as Document.Object names it
	namespace string
	owner     metav1.OwnerReference
	template  *corev1.PodTemplateSpec
	spec      string // the path of the pods' spec in the object
	counted   string // the field that says how many pods it has
	count     int
	first     int     // ordinal of its first pod
	settled   indexes // ordinals that need no pod any more, or have one
	// Why it creates nothing whatever pods there are, and the field that says so.
	idle, idleAt string
	edited       string // where it asks for other amounts than its pods that exist
	deployment   string // the Deployment that makes the ReplicaSet which is not there yet
	// These labels, where set, get each pod's ordinal and name.
	ordinalLabel, nameLabel string
	claims                  []corev1.PersistentVolumeClaim // one per pod of each
}

// stop makes a workload create nothing. The first reason counts.
func (w *workload) stop(path, why string) {
	w.count = 0
	if w.idle == "" {
		w.idle, w.idleAt = why, path
	}
}

// workloads lists what is still to be created: pods that already exist and that
// a controller owns count for it, and a controller whose own children are among
// the objects leaves the creation to them. Those that are idle are listed too.
func (o *objects) workloads() []workload {
	sets := o.replicaSetsOf()
	o.scale(sets)
	owned, delegated := o.ownedPods(), o.delegated()
	var out []workload
	add := func(w workload) {
		if w.count <= 0 {
			w.stop(w.counted, "leaves no pods to create")
		}
		pods := owned[w.namespace+"/"+w.owner.Kind+"/"+w.owner.Name]
		if w.compare(pods); w.ordinalLabel != "" {
			w.skip(pods)
		} else {
			w.count -= len(pods)
		}
		if w.count > 0 || w.idle != "" || w.edited != "" {
			out = append(out, w)
		}
	}
	for _, d := range o.deployments {
		key := d.Namespace + "/Deployment/" + d.Name
		if !delegated[key] {
			w := replicaSetOf(d)
			w.compare(owned[key])
			w.count -= len(owned[key])
			add(w)
			continue
		}
		w := workload{object: "Deployment " + d.Namespace + "/" + d.Name, spec: "spec.template.spec", template: &d.Spec.Template}
		w.compare(owned[key])
		for _, r := range sets[d.Namespace+"/"+d.Name] {
			w.compare(owned[r.Namespace+"/ReplicaSet/"+r.Name])
		}
		if w.edited != "" {
			out = append(out, w)
		}
	}
	for _, r := range o.replicaSets {
		add(newWorkload(r, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), &r.Spec.Template, r.Spec.Replicas))
	}
	for _, r := range o.controllers {
		add(newWorkload(r, corev1.SchemeGroupVersion.WithKind("ReplicationController"), r.Spec.Template, r.Spec.Replicas))
	}
	for _, s := range o.statefulSets {
		add(statefulSet(s))
	}
	for _, j := range o.jobs {
		w := job(j, &j.Spec, "Job", "spec")
		if ended(j) {
			w.stop("status.conditions", "say that the Job has ended, so it gets no pods")
		}
		add(w)
	}
	for _, c := range o.cronJobs {
		if !delegated[c.Namespace+"/CronJob/"+c.Name] {
			run := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name, DeletionTimestamp: c.DeletionTimestamp}}
			w := job(run, &c.Spec.JobTemplate.Spec, "CronJob", "spec.jobTemplate.spec")
			w.suspend(c.Spec.Suspend, "spec")
			add(w)
		}
	}
	return out
}

func newWorkload(o metav1.Object, kind schema.GroupVersionKind, template *corev1.PodTemplateSpec, replicas *int32) workload {
	w := workload{
		object:    kind.Kind + " " + o.GetNamespace() + "/" + o.GetName(),
		namespace: o.GetNamespace(),
		owner:     *metav1.NewControllerRef(o, kind),
		template:  template,
		spec:      "spec.template.spec",
		counted:   "spec.replicas",
		count:     int(ptr.Deref(replicas, 1)),
	}
	if o.GetDeletionTimestamp() != nil {
		w.stop("metadata.deletionTimestamp", "says that it is being deleted, so it gets no pods")
	}
	return w
}

// replicaSetOf returns the ReplicaSet that a Deployment would create, with a
// stable hash of the template in its name and in its pods' labels.
func replicaSetOf(d *appsv1.Deployment) workload {
	template := d.Spec.Template.DeepCopy()
	asJSON, _ := json.Marshal(template) // plain data always encodes
	sum := sha256.Sum256(asJSON)
	hash := hex.EncodeToString(sum[:5])
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-" + hash, DeletionTimestamp: d.DeletionTimestamp}}
	w := newWorkload(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), template, d.Spec.Replicas)
	w.object, w.deployment = "Deployment "+d.Namespace+"/"+d.Name, d.Name
	return w
}

func statefulSet(s *appsv1.StatefulSet) workload {
	w := newWorkload(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"), &s.Spec.Template, s.Spec.Replicas)
	if s.Spec.Ordinals != nil {
		w.first = int(s.Spec.Ordinals.Start)
	}
	w.ordinalLabel, w.nameLabel = appsv1.PodIndexLabel, appsv1.StatefulSetPodNameLabel
	w.claims = s.Spec.VolumeClaimTemplates
	return w
}

// job returns the pods that a Job runs at the same time. The object of a kind that declares it
// has its spec at a path.
func job(j *batchv1.Job, spec *batchv1.JobSpec, kind, path string) workload {
	w := newWorkload(j, batchv1.SchemeGroupVersion.WithKind("Job"), spec.Template.DeepCopy(), spec.Parallelism)
	w.object, w.spec, w.counted = kind+" "+j.Namespace+"/"+j.Name, path+".template.spec", path+".parallelism"
	succeeded, failed := int(j.Status.Succeeded), 0
	if spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion {
		w.ordinalLabel = batchv1.JobCompletionIndexAnnotation
		completed, _ := parseIndexes(j.Status.CompletedIndexes) // its form has been checked
		givenUp, _ := parseIndexes(ptr.Deref(j.Status.FailedIndexes, ""))
		w.settled = slices.Concat(completed, givenUp)
		succeeded, failed = max(succeeded, completed.count()), givenUp.count()
	}
	if spec.Completions != nil {
		if left := int(*spec.Completions) - succeeded - failed; left < w.count {
			w.count, w.counted = left, path+".completions"
		}
	} else if active := int(j.Status.Active); succeeded > 0 && active < w.count { // no others are created after the first success
		w.count, w.counted = active, "status.active"
	}
	w.suspend(spec.Suspend, path)
	metav1.SetMetaDataLabel(&w.template.ObjectMeta, batchv1.JobNameLabel, j.Name)
	metav1.SetMetaDataLabel(&w.template.ObjectMeta, "job-name", j.Name) // its older name, which constraints may use
	return w
}

func (w *workload) suspend(suspended *bool, path string) {
	if ptr.Deref(suspended, false) {
		w.stop(path+".suspend", "is true, so there are no pods")
	}
}

// ended reports whether a Job creates no more pods: it has finished, or is about to.
func ended(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		switch c.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			return c.Status == corev1.ConditionTrue
		default:
			return false
		}
	})
}

// ownedPods lists the pods that have not finished by namespace/kind/name of
// their controller. Those of a ReplicaSet count for the Deployment whose name it
// has before the hash, as the ReplicaSet itself may not be among the objects.
func (o *objects) ownedPods() map[string][]*corev1.Pod {
	sets := map[string]bool{}
	for _, r := range o.replicaSets {
		sets[r.Namespace+"/"+r.Name] = true
	}
	out := map[string][]*corev1.Pod{}
	for _, pod := range o.pods {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		kind, name := owner.Kind, owner.Name
		if at := strings.LastIndexByte(name, '-'); kind == "ReplicaSet" && at > 0 && !sets[pod.Namespace+"/"+name] {
			kind, name = "Deployment", name[:at]
		}
		key := pod.Namespace + "/" + kind + "/" + name
		out[key] = append(out[key], pod)
	}
	return out
}

// delegated holds namespace/kind/name of the controllers of ReplicaSets and Jobs.
func (o *objects) delegated() map[string]bool {
	out := map[string]bool{}
	note := func(child metav1.Object) {
		if owner := metav1.GetControllerOfNoCopy(child); owner != nil {
			out[child.GetNamespace()+"/"+owner.Kind+"/"+owner.Name] = true
		}
	}
	for _, r := range o.replicaSets {
		note(r)
	}
	for _, j := range o.jobs {
		if !ended(j) { // a CronJob keeps those that have
			note(j)
		}
	}
	return out
}

// replicaSetsOf lists the ReplicaSets of Deployments, by namespace/name of these.
func (o *objects) replicaSetsOf() map[string][]*appsv1.ReplicaSet {
	out := map[string][]*appsv1.ReplicaSet{}
	for _, r := range o.replicaSets {
		if owner := metav1.GetControllerOfNoCopy(r); owner != nil && owner.Kind == "Deployment" {
			out[r.Namespace+"/"+owner.Name] = append(out[r.Namespace+"/"+owner.Name], r)
		}
	}
	return out
}

// scale does what its controller does to a Deployment whose number of pods has changed: the ReplicaSet gets that
// number. Where several have pods, the controller is about to replace them, and moves both numbers as it likes.
func (o *objects) scale(sets map[string][]*appsv1.ReplicaSet) {
	wanted := func(r *appsv1.ReplicaSet) int32 { return ptr.Deref(r.Spec.Replicas, 1) }
	for _, d := range o.deployments {
		of := sets[d.Namespace+"/"+d.Name]
		slices.SortStableFunc(of, func(a, b *appsv1.ReplicaSet) int {
			return cmp.Or(cmp.Compare(min(1, wanted(b)), min(1, wanted(a))), b.CreationTimestamp.Compare(a.CreationTimestamp.Time))
		})
		if len(of) == 1 || len(of) > 1 && wanted(of[1]) == 0 {
			of[0].Spec.Replicas = d.Spec.Replicas
		}
	}
}

// deployment converts a Deployment. One that is written by hand, without a status, is taken to have all its pods.
func deployment(d *appsv1.Deployment) cluster.Deployment {
	if d.Status.ObservedGeneration == 0 && d.Status.Replicas == 0 && len(d.Status.Conditions) == 0 {
		n := ptr.Deref(d.Spec.Replicas, 1)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, AvailableReplicas: n}
	}
	return cluster.FromDeployment(d, "")
}

// pods converts the pods to create. They share one template unless something in
// it is a pod's own.
func (w *workload) pods(templates *cluster.Templates) []cluster.Pod {
	ordinals := w.ordinals()
	names := podNames(w.owner.Name, ordinals)
	out := make([]cluster.Pod, 0, w.count)
	if w.individual() {
		for i, name := range names {
			if pod, ok := templates.Pod(w.pod(name, ordinals[i])); ok {
				out = append(out, pod)
			}
		}
		return out
	}
	pod, _ := templates.Pod(w.pod(names[0], ordinals[0]))
	for _, name := range names {
		pod.Name = name
		out = append(out, pod)
	}
	return out
}

// newestPods returns the newest pod of each Deployment, by namespace/name. Those that are going do not count.
func newestPods(of ...[]cluster.Pod) map[string]*cluster.Pod {
	out := map[string]*cluster.Pod{}
	for _, pods := range of {
		for i := range pods {
			p := &pods[i]
			key := p.Namespace + "/" + p.Deployment()
			if known := out[key]; p.State != cluster.PodTerminating && (known == nil || p.Created.After(known.Created)) {
				out[key] = p
			}
		}
	}
	return out
}

// join gives the pods to create the ReplicaSet of the newest pod that their Deployment has, and its hash: constraints may
// concern pods of the same hash only (matchLabelKeys). With another specification, they are those of another ReplicaSet.
func (w *workload) join(newest map[string]*cluster.Pod, templates *cluster.Templates) {
	p := newest[w.namespace+"/"+w.deployment]
	if w.deployment == "" || w.edited != "" || p == nil {
		return
	}
	created, _ := templates.Pod(w.pod(p.Name, 0))
	if maps.Equal(created.Template.Requests, p.Template.Requests) {
		w.owner.Name, w.owner.UID = p.Owner.Name, types.UID(p.Owner.UID)
		w.template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = p.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
}

func (w *workload) individual() bool {
	return w.ordinalLabel != "" || len(w.claims) > 0 ||
		slices.ContainsFunc(w.template.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
}

func (w *workload) pod(name string, ordinal int) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: *w.template.ObjectMeta.DeepCopy(), Spec: *w.template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = w.namespace, name
	pod.OwnerReferences = []metav1.OwnerReference{w.owner}
	if w.ordinalLabel != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, w.ordinalLabel, strconv.Itoa(ordinal))
	}
	if w.nameLabel != "" {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, w.nameLabel, name)
	}
	for i := range w.claims {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: w.claims[i].Name,
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: w.claims[i].Name + "-" + name,
			}},
		})
	}
	if untouched(pod) {
		create(pod)
	}
	return pod
}

// missingClaims returns the claims that a StatefulSet would create.
func (w *workload) missingClaims(have []*corev1.PersistentVolumeClaim) []cluster.Claim {
	if len(w.claims) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, c := range have {
		known[c.Namespace+"/"+c.Name] = true
	}
	var out []cluster.Claim
	for _, name := range podNames(w.owner.Name, w.ordinals()) {
		for i := range w.claims {
			claim := w.claims[i].DeepCopy()
			claim.Namespace, claim.Name = w.namespace, claim.Name+"-"+name
			if !known[claim.Namespace+"/"+claim.Name] {
				out = append(out, cluster.FromClaim(claim))
			}
		}
	}
	return out
}

// podNames returns prefix-ordinal for each ordinal.
func podNames(prefix string, ordinals []int) []string {
	names := make([]string, len(ordinals))
	for i, n := range ordinals {
		names[i] = prefix + "-" + strconv.Itoa(n)
	}
	return names
}
