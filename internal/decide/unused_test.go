package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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

// wantNothingUnused checks that two nodes whose pods are protected stay, and that nothing on them counts as unused.
func wantNothingUnused(t *testing.T, w *world) {
	t.Helper()
	for i := range w.in.Snapshot.Pods {
		p := &w.in.Snapshot.Pods[i]
		p.Template = protected(p.Template, true, 0)
	}
	stays := w.older().decide().Consolidation.Stays
	if len(stays) != 2 || stays[0].Unused+stays[1].Unused > 10 { // micro-dollars, by rounding
		t.Errorf("stays %+v, want nothing unused", stays)
	}
}

// A full node is not taken for unused because another Provisioner sells cheaper machines.
func TestUnusedMeasuresByProvisioner(t *testing.T) {
	w := newWorld(t, []offer.InstanceType{sold("cheap", 4, 0.05), sold("dear", 4, 0.2)})
	for _, name := range []string{"cheap", "dear"} {
		only := fmt.Sprintf("requirements: [{key: $type, operator: In, values: [%s]}, ", name)
		w.provisioner(name, strings.Replace(consolidating, "requirements: [", only, 1))
		w.node(name, name, "a", func(n *cluster.Node) { n.Provisioner = name }).replicas(1, "web-"+name, name, "requests: {cpu: 3900m, memory: 4Gi}")
	}
	wantNothingUnused(t, w)
}

// A full node is not taken for unused because another one of its Provisioner is in a capacity reservation.
func TestUnusedLeavesOutReservedNodes(t *testing.T) {
	w := newWorld(t, []offer.InstanceType{withReserved(sold("medium", 4, 0.2), 0)}).provisioner("default", consolidating)
	w.node("full", "medium", "a", nil).replicas(1, "web", "full", "requests: {cpu: 3900m, memory: 4Gi}")
	w.node("reserved", "medium", "a", func(n *cluster.Node) { n.Labels[api.LabelCapacityType] = api.CapacityReserved }).
		replicas(1, "api", "reserved", "requests: {cpu: 3900m, memory: 4Gi}")
	wantNothingUnused(t, w)
}
