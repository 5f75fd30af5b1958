package cluster

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A mark of ours is set, changed and taken off, and no decision sees it; what somebody else
// has set stays.
func TestSteering(t *testing.T) {
	const cost, mark = corev1.PodDeletionCost, api.AnnotationSteered
	type annotations = map[string]string
	for name, c := range map[string]struct {
		has   annotations
		grade int
		want  annotations
	}{
		"set":                      {annotations{"a": "b"}, 2, annotations{"a": "b", cost: "-2", mark: "-2"}},
		"changed":                  {annotations{cost: "-2", mark: "-2"}, 3, annotations{cost: "-3", mark: "-3"}},
		"kept":                     {annotations{cost: "-2", mark: "-2"}, 2, annotations{cost: "-2", mark: "-2"}},
		"taken off":                {annotations{cost: "-2", mark: "-2", "a": "b"}, 0, annotations{"a": "b"}},
		"for surge":                {annotations{cost: "-2", mark: "-2"}, GradeSurge, annotations{cost: "-1000", mark: "-1000"}},
		"none":                     {nil, 0, annotations{}},
		"somebody else's":          {annotations{cost: "7"}, 2, annotations{cost: "7"}},
		"somebody else's, off":     {annotations{cost: "7"}, 0, annotations{cost: "7"}},
		"changed by somebody":      {annotations{cost: "7", mark: "-2"}, 3, annotations{cost: "7"}},
		"changed by somebody, 0":   {annotations{cost: "7", mark: "-2"}, 0, annotations{cost: "7"}},
		"taken off by somebody":    {annotations{mark: "-2"}, 0, annotations{}},
		"set again after somebody": {annotations{mark: "-2"}, 1, annotations{cost: "-1", mark: "-1"}},
	} {
		set, remove := Steering(c.has, c.grade)
		got := annotations{}
		maps.Copy(got, c.has)
		maps.Copy(got, set)
		for _, key := range remove {
			delete(got, key)
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
		pod, _ := NewTemplates().Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: got}})
		if others := got[cost] == "7"; pod.CostSet != others || (pod.DeletionCost == 7) != others {
			t.Errorf("%s: converted to a cost of %d, set %t", name, pod.DeletionCost, pod.CostSet)
		}
		if ours := got[mark] != ""; ours != (pod.Steered > 0) || ours && pod.Steered != c.grade {
			t.Errorf("%s: converted to grade %d", name, pod.Steered)
		}
	}
}
