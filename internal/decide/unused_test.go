package decide

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// What is said to be unused of a node that something keeps is the price of the room that no
// pod requests. Where no cheaper place was found for its pods, nothing is.
func TestUnused(t *testing.T) {
	const quarter = "requests: {cpu: 1, memory: 4Mi}"
	for name, c := range map[string]struct {
		given func(*world)
		want  offer.Price
	}{
		"a protected pod on a quarter of the node": {func(w *world) {
			w.replicas(1, "web", "n1", quarter)
			p := &w.in.Snapshot.Pods[0]
			p.Template = protected(p.Template, true, 0)
		}, 148_718}, // of 3.9 CPUs for $0.2 per hour
		"and the pod of a DaemonSet on another": {func(w *world) {
			w.replicas(1, "web", "n1", quarter)
			p := &w.in.Snapshot.Pods[0]
			p.Template = protected(p.Template, true, 0)
			w.running("ds", "n1", "owner: DaemonSet/agent, "+quarter)
		}, 97_436},
		"no cheaper place": {func(w *world) { w.replicas(1, "web", "n1", quarter) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []offer.InstanceType{sold("medium", 4, 0.2)}).provisioner("default", consolidating).node("n1", "medium", "a", nil)
			c.given(w)
			p := w.older().decide()
			if len(p.Consolidation.Stays) != 1 || p.Consolidation.Stays[0].Unused != c.want {
				t.Errorf("stays %+v, want %d unused", p.Consolidation.Stays, c.want)
			}
		})
	}
}
