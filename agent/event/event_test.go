package event_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// sent are the events that a cluster has got.
type sent []string

func (s *sent) Event(ref cluster.ObjectRef, eventType, reason, message string) {
	*s = append(*s, fmt.Sprintf("%s %s %s %s: %s", ref.Kind, ref.Name, eventType, reason, message))
}

// All events go to the cluster; those of single pods are not kept for the status page.
func TestRecorderKeepsWhatIsNotAboutPods(t *testing.T) {
	var got sent
	r := event.NewRecorder(&got)
	r.Normal(event.Node("a"), event.Launched, "m7g.large")
	r.Warning(event.Pod(cluster.PodKey{Namespace: "default", Name: "web"}), event.Unplaceable, "too large")
	if want := "[Node a Normal Launched: m7g.large Pod web Warning Unplaceable: too large]"; fmt.Sprint(got) != want {
		t.Errorf("sent %v, want %s", got, want)
	}
	if recent := r.Recent(); len(recent) != 1 || recent[0].Object != "Node a" || recent[0].Warning {
		t.Errorf("recent = %+v, want that of the node", recent)
	}
}

// Deployments of different namespaces may have the same name.
func TestRecentEventsNameTheNamespace(t *testing.T) {
	r := event.NewRecorder(new(sent))
	for _, namespace := range []string{"shop", "bank"} {
		d := &cluster.Deployment{}
		d.Namespace, d.Name = namespace, "web"
		r.Normal(event.Deployment(d), event.Surging, "one more pod")
	}
	if recent := r.Recent(); len(recent) != 2 || recent[0].Object != "Deployment bank/web" {
		t.Errorf("recent = %+v, want both, with their namespaces", recent)
	}
}

// The status page shows the newest event first, one that is repeated once, and no more
// than it has room for.
func TestRecentEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := event.NewRecorder(new(sent))
		for i := range 60 {
			r.Warning(event.Node(fmt.Sprint("n", i)), event.Kept, "a budget")
			time.Sleep(time.Second)
		}
		r.Warning(event.Node("n58"), event.Kept, "a budget")
		recent := r.Recent()
		seen := map[string]int{}
		for i, e := range recent {
			seen[e.Object]++
			if i > 0 && e.At.After(recent[i-1].At) {
				t.Errorf("%s comes after an older event", e.Object)
			}
		}
		if recent[0].Object != "Node n58" || seen["Node n58"] != 1 || seen["Node n59"] != 1 || seen["Node n0"] != 0 {
			t.Errorf("recent = %v", seen)
		}
	})
}

// kubectl finds events by what they refer to.
func TestReferences(t *testing.T) {
	if n := event.Node("a"); n.Kind != "Node" || n.UID != "a" {
		t.Errorf("a node is %+v; its UID is its name, as in the kubelet's events", n)
	}
	if p := event.Pod(cluster.PodKey{Namespace: "x", Name: "web", UID: "1"}); p.Kind != "Pod" || p.Namespace != "x" || p.UID != "1" {
		t.Errorf("a pod is %+v", p)
	}
}
