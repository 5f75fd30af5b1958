package drain

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// A block is reported when it begins, when another budget blocks, and again before the API server forgets the event,
// and not at each attempt.
func TestBlocksAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, p := newMemory(), &cluster.Pod{PodKey: cluster.PodKey{Name: "web", UID: "web"}}
		blocked := func(budget string, want bool) {
			t.Helper()
			if got := m.refused(p, HeldByBudget, &cluster.BlockedError{Budgets: []string{budget}}); got != want {
				t.Errorf("a block by %s is reported: %t, want %t", budget, got, want)
			}
		}
		blocked("x/web", true)
		time.Sleep(evictionRetry)
		blocked("x/web", false)
		blocked("x/all", true)
		time.Sleep(event.RepeatAfter - time.Second)
		blocked("x/all", false)
		time.Sleep(time.Second)
		blocked("x/all", true)
		m.accepted("web")
		blocked("x/all", true)
	})
}

// A kubelet may register its node again after the finalizer was removed, while its machine shuts down. If that Node
// object is deleted too, it is drained, and not taken for the former one.
func TestNodeThatRegistersAgainIsDrained(t *testing.T) {
	m := newMemory()
	former := &cluster.Node{Name: "a", ProviderID: "aws:///a/i-1", Created: time.Unix(1000, 0), Deleting: true}
	again := &cluster.Node{Name: "a", ProviderID: "aws:///a/i-1", Created: time.Unix(1060, 0), Deleting: true}
	m.letGo(former)
	m.keep(nil, &cluster.Snapshot{Nodes: []cluster.Node{*former}})
	if !m.wasLetGo(former) || m.wasLetGo(again) {
		t.Errorf("the former node was let go: %t, and the one that has registered again: %t", m.wasLetGo(former), m.wasLetGo(again))
	}
}

// Of what the cloud says about several machines, the drain of a node quotes what is about its own.
func TestDenialsAreAboutTheMachine(t *testing.T) {
	m := newMemory()
	node := func(name string) *cluster.Node { return &cluster.Node{Name: name, ProviderID: "aws:///a/i-" + name} }
	said := errors.Join(errors.New("terminate [i-a]: it may not be terminated"), errors.New("terminate [i-b]: it has lost its tags"))
	for _, name := range []string{"a", "b", "c"} {
		m.denies(node(name), said)
	}
	for name, want := range map[string]string{
		"a": "terminate [i-a]: it may not be terminated",
		"b": "terminate [i-b]: it has lost its tags",
		"c": "terminate [i-a]: it may not be terminated; terminate [i-b]: it has lost its tags",
		"d": "",
	} {
		if got := m.denial(name); got != want {
			t.Errorf("node %s: %q, want %q", name, got, want)
		}
	}
	if m.keep([]*cluster.Node{node("a")}, &cluster.Snapshot{}); m.denial("a") == "" || m.denial("b") != "" {
		t.Error("what was said about a node that is still there is forgotten, or that about one which is gone is kept")
	}
}
