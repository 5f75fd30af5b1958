package surge

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Record says what was begun for the pods of one Deployment that are to leave a node. It is kept in
// an annotation of that node, whose finalizer keeps the node until the record is gone.
type Record struct {
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment"`
	UID        string `json:"uid"`
	// Replicas is how many were wanted before.
	Replicas int `json:"replicas"`
	// Pods are those that leave. As many more are made.
	Pods []Pod `json:"pods"`
	// Since is when it was begun, or when it was decided to scale back.
	Since time.Time `json:"since"`
	// Back: pods in their places are up, and the Deployment is scaled back.
	Back bool `json:"back,omitempty"`
}

// Pod is a pod that leaves.
type Pod struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// more is how many replicas there are while both the pods that leave and those in their places run.
func (r *Record) more() int { return r.Replicas + len(r.Pods) }

// grown reports whether the Deployment still has the replicas that surge gave it.
func (r *Record) grown(d *cluster.Deployment) bool { return d.Scaled && d.Replicas == r.more() }

func (r *Record) of(d *cluster.Deployment) bool {
	return r.Namespace == d.Namespace && r.Deployment == d.Name && r.UID == d.UID
}

func (r *Record) has(uid string) bool {
	return slices.ContainsFunc(r.Pods, func(p Pod) bool { return p.UID == uid })
}

// staying counts the pods that are to leave and do not yet, among those of the node.
func (r *Record) staying(pods []*cluster.Pod) (out int) {
	for _, p := range pods {
		if p.State == cluster.PodBound && r.has(p.UID) {
			out++
		}
	}
	return out
}

// String returns namespace/name of the Deployment.
func (r *Record) String() string { return r.Namespace + "/" + r.Deployment }

// records reads the annotation of a node. What is not ours to read counts as none.
func records(n *cluster.Node) []Record {
	var out []Record
	if text := n.Annotations[api.AnnotationSurging]; text == "" || json.Unmarshal([]byte(text), &out) != nil {
		return nil
	}
	return out
}

// change makes these the records of a node.
func change(records []Record) cluster.NodeChange {
	if len(records) == 0 {
		return cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationSurging}}
	}
	text, _ := json.Marshal(records) // plain data
	return cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationSurging: string(text)}}
}
