package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The room of a node is what its pods have left: those that are bound count,
// where they are bound now, until they have finished or are gone.
func TestRunningPodsAreCounted(t *testing.T) { // LIFE-025
	for name, c := range map[string]struct {
		given func(*world)
		want  string
	}{
		"bound":     {func(w *world) { w.running("r", "n", "requests: {cpu: 1.5}") }, "small(p)"},
		"elsewhere": {func(w *world) { w.node("other", "small", "a", nil).running("r", "other", "requests: {cpu: 1.5}") }, "n<-(p)"},
		"finished": {func(w *world) {
			p := w.pod("r", "requests: {cpu: 1.5}")
			p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded
			w.add(p)
		}, "n<-(p)"},
		"gone": {func(*world) {}, "n<-(p)"},
	} {
		w := newWorld(t, catalogueA()).provisioner("default", "{}").node("n", "small", "a", nil)
		c.given(w)
		w.pods(1, "p", "requests: {cpu: 1}")
		plan := w.decide()
		if got := view(plan, byType); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
