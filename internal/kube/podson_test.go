package kube

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	want := func(node string, want bool) {
		t.Helper()
		if ready, err := c.NodeReady(t.Context(), node); err != nil || ready != want {
			t.Errorf("%s: ready %t, %v, want %t", node, ready, err, want)
		}
	}
	emptyNode(t, c, "nodeready")
	want("nodeready", false)
	// A patch, because the node's controllers change it meanwhile.
	ready := []byte(`{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`)
	if _, err := admin.CoreV1().Nodes().Patch(t.Context(), "nodeready", types.StrategicMergePatchType, ready, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	want("nodeready", true)
	want("nodeready-gone", false)
}
