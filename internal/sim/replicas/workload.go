package replicas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Workload keeps a number of equal pods up, as a ReplicaSet does.
type Workload struct {
	Name     string
	Replicas int
	Doubtful bool              // something may keep its pods from being made
	Labels   map[string]string // besides app=Name
	Spec     corev1.PodSpec
	// Stateful: it is a StatefulSet, whose pods have names of their own, so that a
	// successor comes only when its predecessor is gone.
	Stateful bool
	// Finalizers hold its pods when they are deleted.
	Finalizers []string
	// Annotations are those of its pods.
	Annotations map[string]string
	// Revision: it is a Deployment, which replaces pods of another one step by step.
	Revision string
	// Surge is the Deployment's annotation. Autoscaled: an autoscaler scales it.
	Surge      string
	Autoscaled bool
	// Unready: pods that start do not become ready as long as it says so.
	Unready bool
	// Job: its pods end by themselves after so long, and are not made again.
	Job time.Duration
	// Lifetime says after how long the n-th pod ends and is replaced; nil: none does. A pod
	// in the place of one that was evicted has the rest of its time.
	Lifetime func(n int) time.Duration
}

// Change is what the controller of a workload does next: it makes pods, and then it stops others.
type Change struct {
	Make []string // names; an empty one leaves the name to whoever makes the pod
	Stop []*corev1.Pod
}

// revision is the label of a pod's revision.
const revision = appsv1.DefaultDeploymentUniqueLabelKey

// Change compares the workload with its active pods, among all pods of the cluster. A ReplicaSet
// makes at most so many pods at once; 0 means all.
func (l *Workload) Change(active []*corev1.Pod, all map[types.UID]*corev1.Pod, atOnce int) Change {
	if l.Stateful {
		return l.stateful(all)
	}
	Order(active)
	if change, rollsOut := l.rollOut(active); rollsOut {
		return change
	}
	missing := max(l.Replicas-len(active), 0)
	if atOnce > 0 {
		missing = min(missing, atOnce)
	}
	return Change{Make: make([]string, missing), Stop: active[min(l.Replicas, len(active)):]}
}

// stateful makes the pods of a StatefulSet that are missing, and stops those that are too many.
func (l *Workload) stateful(all map[types.UID]*corev1.Pod) (change Change) {
	there := map[string]bool{}
	for _, p := range all {
		there[p.Name] = true
	}
	for i := range l.Replicas {
		if name := fmt.Sprintf("%s-%d", l.Name, i); !there[name] {
			change.Make = append(change.Make, name)
		}
	}
	for _, p := range Of(all, l.Name) {
		ordinal, err := strconv.Atoi(strings.TrimPrefix(p.Name, l.Name+"-"))
		if err == nil && ordinal >= l.Replicas {
			change.Stop = append(change.Stop, p)
		}
	}
	return change
}

// rollOut replaces pods of other revisions: a quarter more may be there than are wanted, and a
// quarter fewer may run. It reports whether there were any.
func (l *Workload) rollOut(pods []*corev1.Pod) (change Change, rolls bool) {
	var old []*corev1.Pod
	running := 0
	for _, p := range pods {
		if p.Labels[revision] != l.Revision {
			old = append(old, p)
		}
		if p.Status.Phase == corev1.PodRunning {
			running++
		}
	}
	if len(old) == 0 {
		return change, false
	}
	surge, missing := (l.Replicas+3)/4, l.Replicas/4
	change.Make = make([]string, max(0, min(l.Replicas-(len(pods)-len(old)), l.Replicas+surge-len(pods))))
	for _, p := range slices.Backward(old) {
		if p.Status.Phase == corev1.PodRunning {
			if running <= l.Replicas-missing {
				break
			}
			running--
		}
		change.Stop = append(change.Stop, p)
	}
	return change, true
}

// Kind is the kind of the object that its pods belong to.
func (l *Workload) Kind() string {
	switch {
	case l.Stateful:
		return "StatefulSet"
	case l.Job > 0:
		return "Job"
	}
	return "ReplicaSet"
}

// Owner is the name of the object that its pods belong to.
func (l *Workload) Owner() string {
	if l.Revision != "" {
		return l.Name + "-" + l.Revision
	}
	return l.Name
}

// Surges reports whether pods of the workload are moved by surge.
func (l *Workload) Surges() bool {
	_, foreign := l.Annotations[corev1.PodDeletionCost]
	return l.Revision != "" && l.Surge == "true" && !l.Autoscaled && !foreign
}

// Pod returns a new pod of the workload that has not been scheduled. Without a name it gets one
// of its own.
func (l *Workload) Pod(uid types.UID, name string, created metav1.Time) *corev1.Pod {
	if name == "" {
		name = fmt.Sprintf("%s-%s", l.Name, uid)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: uid, Finalizers: l.Finalizers,
			Labels: map[string]string{"app": l.Name}, Annotations: maps.Clone(l.Annotations), CreationTimestamp: created,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: l.Kind(), Name: l.Owner(), UID: types.UID("workload/" + l.Owner()), Controller: ptr.To(true),
			}},
		},
		Spec:   *l.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	maps.Copy(p.Labels, l.Labels)
	if l.Revision != "" {
		p.Labels[revision] = l.Revision
	}
	return p
}

// Scale is who has scaled a workload.
type Scale struct {
	Version int  // counts changes of the workload
	ByAgent bool // an agent has changed the replicas last
	Wished  int  // how many replicas users want
}

// Scaled returns the Scale after the workload has come into the place of another one, which is
// nil for a new one.
func (s Scale) Scaled(before, after *Workload, byAgent bool) Scale {
	s.Version++
	if before == nil || before.Replicas != after.Replicas {
		if s.ByAgent = byAgent; !byAgent {
			s.Wished = after.Replicas
		}
	}
	return s
}

// Deployment returns the workload, which has a revision, as agents read it.
func (l *Workload) Deployment(active []*corev1.Pod, s Scale) cluster.Deployment {
	d := cluster.Deployment{
		Namespace: metav1.NamespaceDefault, Name: l.Name, UID: "deployment/" + l.Name, Version: strconv.Itoa(s.Version),
		Surge: l.Surge, Replicas: l.Replicas, Autoscaled: l.Autoscaled,
	}
	if s.ByAgent && l.Replicas > s.Wished {
		d.Before = s.Wished
	}
	current := 0
	for _, p := range active {
		if p.Labels[revision] != l.Revision {
			continue
		}
		current++
		if Ready(p) {
			d.Available++
		}
	}
	d.Settled = len(active) == l.Replicas && current == l.Replicas
	return d
}
