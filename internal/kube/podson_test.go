package kube

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// What was written a moment ago is seen, and the pods of the node only.
func TestPodsOn(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "podson-a")
	emptyNode(t, c, "podson-b")
	running(t, c, ns, "here", "podson-a")
	running(t, c, ns, "there", "podson-b")
	pods, err := c.PodsOn(t.Context(), "podson-a")
	if err != nil || len(pods) != 1 || pods[0].Name != "here" || pods[0].State != cluster.PodBound {
		t.Errorf("got %v, %v, want the pod that runs there", pods, err)
	}
}

// A node is ready when its status says so, and a node that is not there is not.
func TestNodeReady(t *testing.T) {
	c := connect(t)
	name := "nodeready"
	emptyNode(t, c, name)
	for node, want := range map[string]bool{name: true, "nodeready-gone": false} {
		if ready, err := c.NodeReady(t.Context(), node); err != nil || ready != want {
			t.Errorf("%s: ready %t, %v, want %t", node, ready, err, want)
		}
	}
}
