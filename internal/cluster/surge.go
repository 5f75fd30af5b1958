package cluster

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Surge says what was begun for the pods of one Deployment that are to leave a node. It is kept in
// an annotation of that node, whose finalizer keeps the node until the record is gone.
type Surge struct {
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment"`
	UID        string `json:"uid"`
	// Replicas is how many were wanted before.
	Replicas int `json:"replicas"`
	// Pods are those that leave. As many more are made.
	Pods []SurgePod `json:"pods"`
	// Since is when it was begun, or when it was decided to scale back.
	Since time.Time `json:"since"`
	// Back: pods in their places are up, and the Deployment is scaled back.
	Back bool `json:"back,omitempty"`
}

// SurgePod is a pod that leaves.
type SurgePod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// More is how many replicas there are while both the pods that leave and those in their places run.
func (r *Surge) More() int { return r.Replicas + len(r.Pods) }

// Grown reports whether the Deployment still has the replicas that surge gave it.
func (r *Surge) Grown(d *Deployment) bool { return d.Before == r.Replicas && d.Replicas == r.More() }

// MayUndo reports whether the Deployment, as it is now, may be scaled back for it: it has more replicas than before, and
// nobody else has set their number since.
func (r *Surge) MayUndo(d *Deployment) bool { return r.Of(d) && d.Before > 0 }

// Of reports whether it is about the Deployment.
func (r *Surge) Of(d *Deployment) bool {
	return r.Namespace == d.Namespace && r.Deployment == d.Name && r.UID == d.UID
}

// Has reports whether the pod is one of those that leave.
func (r *Surge) Has(uid string) bool {
	return slices.ContainsFunc(r.Pods, func(p SurgePod) bool { return p.UID == uid })
}

// String returns namespace/name of the Deployment.
func (r *Surge) String() string { return r.Namespace + "/" + r.Deployment }

// Surges reads the annotation of a node. What is not ours to read counts as none.
func Surges(annotations map[string]string) []Surge {
	var out []Surge
	if text := annotations[api.AnnotationSurging]; text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}
