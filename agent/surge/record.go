package surge

import (
	"encoding/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// staying counts the pods that are to leave and do not yet, among those of the node.
func staying(r *cluster.Surge, pods []*cluster.Pod) (out int) {
	for _, p := range pods {
		if p.State == cluster.PodBound && r.Has(p.UID) {
			out++
		}
	}
	return out
}

// records reads the annotation of a node.
func records(n *cluster.Node) []cluster.Surge { return cluster.Surges(n.Annotations) }

// change makes these the records of a node.
func change(records []cluster.Surge) cluster.NodeChange {
	if len(records) == 0 {
		return cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationSurging}}
	}
	text, _ := json.Marshal(records) // plain data
	return cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationSurging: string(text)}}
}
