package nodes

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

var taint = corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule}

func waitingPod(name string) cluster.Pod {
	return cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: name, UID: name}, State: cluster.PodPending}
}

func TestAssumptionsBridgeTheLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAssumptions()
		pod := waitingPod("web")
		a.node(cluster.Node{Name: "new"}, true)
		a.node(cluster.Node{Name: "failed"}, false)
		a.Bound(pod.PodKey, "new")
		change := cluster.NodeChange{
			SetLabels: map[string]string{api.LabelInitialized: "true"}, RemoveAnnotations: []string{"old"},
			AddTaints: []corev1.Taint{taint}, Cordon: ptr.To(true),
		}
		a.edited("known", change)
		a.asked(&cluster.Node{Name: "going"}, nil)

		lagging := &cluster.Snapshot{
			Pods: []cluster.Pod{pod},
			Nodes: []cluster.Node{
				{Name: "going"},
				{Name: "known", Annotations: map[string]string{"old": "x", "kept": "x"}},
			},
		}
		edited := cluster.Node{
			Name: "known", Labels: change.SetLabels, Annotations: map[string]string{"kept": "x"},
			Taints: change.AddTaints, Unschedulable: true, Initialized: true,
		}
		placed := pod
		placed.NodeName, placed.State = "new", cluster.PodBound
		want := &cluster.Snapshot{
			Pods:  []cluster.Pod{placed},
			Nodes: []cluster.Node{{Name: "failed"}, {Name: "going", Deleting: true}, edited, {Name: "new"}},
		}
		before := asJSON(t, lagging)
		if diff := cmp.Diff(want, a.Apply(lagging)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if asJSON(t, lagging) != before {
			t.Error("the snapshot of the caches was changed")
		}
		if !a.Uncreated("failed") || a.Uncreated("new") {
			t.Error("the node without an object is not told from the other")
		}

		// Once the caches agree, they are believed.
		if diff := cmp.Diff(want, a.Apply(want)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if n := len(a.nodes) + len(a.pods) + len(a.edits); n != 0 {
			t.Errorf("%d assumptions are left", n)
		}
	})
}

func TestAssumptionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAssumptions()
		pod := waitingPod("web")
		a.node(cluster.Node{Name: "new"}, true)
		a.Bound(pod.PodKey, "new")
		a.asked(&cluster.Node{Name: "known"}, nil)
		s := &cluster.Snapshot{Pods: []cluster.Pod{pod}, Nodes: []cluster.Node{{Name: "known"}}}
		time.Sleep(ttl + time.Second)
		if diff := cmp.Diff(s, a.Apply(s)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// A deletion that was refused is remembered for ten minutes, then for twice as long, until one is accepted. Attempts
// meanwhile, as with an unhealthy node, do not make it longer.
func TestRefusedDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAssumptions()
		s := &cluster.Snapshot{Nodes: []cluster.Node{{Name: "a"}, {Name: "b"}}}
		refused := func() string { return a.Apply(s).Nodes[1].Refused }
		for _, pause := range []time.Duration{pace.RefusalPause, 2 * pace.RefusalPause} {
			a.asked(&cluster.Node{Name: "b"}, errors.New("delete node b: forbidden"))
			time.Sleep(pause - time.Second)
			a.asked(&cluster.Node{Name: "b"}, errors.New("delete node b: forbidden"))
			if got := refused(); got != "the agent could not delete node b: forbidden" || a.Apply(s).Nodes[0].Refused != "" {
				t.Errorf("within %s it is %q", pause, got)
			}
			time.Sleep(time.Second)
			if got := refused(); got != "" {
				t.Errorf("after %s it is %q", pause, got)
			}
		}
		a.asked(&cluster.Node{Name: "b"}, errors.New("delete node b: forbidden"))
		if a.asked(&cluster.Node{Name: "b"}, nil); refused() != "" {
			t.Error("it counts as refused although it was accepted")
		}
	})
}

// A refused deletion says nothing of a new machine of the same name, and is forgotten once the node is gone.
func TestRefusedDeletionOfANodeThatIsGone(t *testing.T) {
	a := NewAssumptions()
	old, other := cluster.Node{Name: "b", ProviderID: "aws:///a/i-1"}, cluster.Node{Name: "b", ProviderID: "aws:///a/i-2"}
	a.asked(&old, errors.New("delete node b: forbidden"))
	for _, n := range []cluster.Node{other, old} {
		if got := a.Apply(&cluster.Snapshot{Nodes: []cluster.Node{n}}).Nodes[0].Refused; got != "" {
			t.Errorf("%s counts as refused: %s", n.ProviderID, got)
		}
	}
	if len(a.refused) > 0 || !a.pauses.Due(old.Identity()) {
		t.Error("it is not forgotten")
	}
}

func asJSON(t *testing.T, s *cluster.Snapshot) string {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestANewNodeHasNoEarlierEdits: what was changed on a node of this name before is not taken for a change
// of the new one.
func TestANewNodeHasNoEarlierEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAssumptions()
		a.asked(&cluster.Node{Name: "node"}, nil)
		a.node(cluster.Node{Name: "node"}, true)
		s := a.Apply(&cluster.Snapshot{Nodes: []cluster.Node{{Name: "node", ProviderID: "aws:///a/i-2"}}})
		if s.Nodes[0].Deleting {
			t.Error("the new node counts as being deleted")
		}
	})
}
