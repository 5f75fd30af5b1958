package cluster

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Deployment is what is known of one to make one more replica before a pod is moved.
type Deployment struct {
	Namespace, Name, UID string
	// Version is that of the object which was read: a change is refused once there is another.
	Version string
	// Surge is the annotation that asks for it, as written; empty where there is none.
	Surge string
	// Replicas is how many are wanted. Before is how many were before the agent made more of them; 0 if it has not, or
	// somebody has set the number since.
	Replicas, Before int
	// Settled: its controller has made as many pods as are wanted, all of them of the current template.
	Settled bool
	// Available is how many of them serve.
	Available int
	// Recreate: pods of two templates must not run at the same time.
	Recreate bool
	// Autoscaled: an autoscaler decides how many replicas there are.
	Autoscaled bool
}

// FromDeployment converts a Deployment. The manager is the name under which the agent writes. Whether
// something scales it is not known from the object.
func FromDeployment(d *appsv1.Deployment, manager string) Deployment {
	replicas := ptr.Deref(d.Spec.Replicas, 1)
	return Deployment{
		Namespace: d.Namespace, Name: d.Name, UID: string(d.UID), Version: d.ResourceVersion,
		Surge:    d.Annotations[api.AnnotationSurge],
		Replicas: int(replicas),
		Before:   before(d, manager),
		Settled: d.Status.ObservedGeneration >= d.Generation && d.DeletionTimestamp == nil &&
			d.Status.Replicas == replicas && d.Status.UpdatedReplicas == replicas,
		Available: int(d.Status.AvailableReplicas),
		Recreate:  d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
	}
}

// surgeFrom, followed by how many replicas there were, makes the agent's name the field manager under which it makes
// more of them. Unlike the records of surge, which are on nodes, only those may change it who may scale the Deployment.
const surgeFrom = "-surge-from-"

// Scaler is the field manager under which the agent sets how many replicas the Deployment has.
func (d *Deployment) Scaler(replicas int) string {
	if replicas <= d.Replicas {
		return Manager
	}
	return Manager + surgeFrom + strconv.Itoa(d.Replicas)
}

// Scale states how many replicas the Deployment is to have. The API server refuses it if the Deployment has
// changed since it was read.
func (d *Deployment) Scale(replicas int) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, ResourceVersion: d.Version},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}
}

// SetAutoscaled marks the Deployments of a sorted snapshot that is being made which autoscalers scale.
func (s *Snapshot) SetAutoscaled(by []*autoscalingv2.HorizontalPodAutoscaler) {
	for _, a := range by {
		if d := s.Deployment(a.Namespace, a.Spec.ScaleTargetRef.Name); d != nil && a.Spec.ScaleTargetRef.Kind == "Deployment" {
			d.Autoscaled = true
		}
	}
}

// before is how many replicas there were before the manager made more of them, if nobody has set their number since: the
// API server takes a field from its earlier managers when another one changes it, and adds one who applies the same value.
func before(o metav1.Object, manager string) int {
	entries := o.GetManagedFields()
	surge := slices.IndexFunc(entries, func(f metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(f.Manager, manager+surgeFrom) && f.Subresource == "scale" && setsReplicas(&f)
	})
	if surge < 0 {
		return 0
	}
	for i := range entries {
		if i != surge && setsReplicas(&entries[i]) {
			return 0
		}
	}
	replicas, err := strconv.ParseUint(strings.TrimPrefix(entries[surge].Manager, manager+surgeFrom), 10, 31)
	if err != nil {
		return 0 // not the agent's: anybody who may scale the Deployment may choose this name
	}
	return int(replicas)
}

// setsReplicas reports whether a manager has set how many replicas are wanted.
func setsReplicas(f *metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec struct {
			Replicas json.RawMessage `json:"f:replicas"`
		} `json:"f:spec"`
	}
	text, err := json.Marshal(f.FieldsV1)
	return err == nil && json.Unmarshal(text, &fields) == nil && fields.Spec.Replicas != nil
}

// Deployment names the Deployment that the pod's ReplicaSet belongs to, which follows from how its
// controller names ReplicaSets; empty where there is none.
func (p *Pod) Deployment() string {
	hash := p.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if p.Owner.Kind != "ReplicaSet" || hash == "" {
		return ""
	}
	name, ok := strings.CutSuffix(p.Owner.Name, "-"+hash)
	if !ok {
		return ""
	}
	return name
}
