package decide

import (
	"fmt"
	"testing"
)

// Many small nodes that are full are merged if that saves much of what their DaemonSets take. Large nodes are not looked
// at in vain: what the DaemonSets take there could not be saved by machines of another size.
func TestFullNodesAreMergedForTheirDaemonSets(t *testing.T) {
	const daemons = "requests: {cpu: 800m, memory: 1Gi}"
	for name, c := range map[string]struct {
		machine   string
		nodes     int
		pods      int
		pod       string
		want, why string
	}{
		"small nodes": {"small", 8, 1, "requests: {cpu: 1100m, memory: 4Gi}", "n0 n1 n2 n3 n4 n5 n6 n7 -> large medium", ""},
		"large nodes": {"large", 3, 7, "requests: {cpu: 1, memory: 4Gi}", "->", "its pods use nearly all of what it costs"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop()).provisioner("default", consolidating)
			w.daemonSet("agent", daemons)
			for i := range c.nodes {
				node := fmt.Sprintf("n%d", i)
				w.node(node, c.machine, "a", nil).replicas(c.pods, "web", node, c.pod)
				w.running("agent-"+node, node, "owner: DaemonSet/agent, "+daemons)
			}
			p := w.older().decide()
			if got := consolidated(p); got != c.want || why(p, "n0") != c.why {
				t.Errorf("got %q, want %q; n0 stays: %q, want %q", got, c.want, why(p, "n0"), c.why)
			}
		})
	}
}
