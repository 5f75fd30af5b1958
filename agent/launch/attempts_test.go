package launch

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// podsOfAge are pods by UID, the first the oldest.
func podsOfAge(uids ...string) map[string]*cluster.Pod {
	out := map[string]*cluster.Pod{}
	for i, uid := range uids {
		out[uid] = &cluster.Pod{PodKey: cluster.PodKey{UID: uid}, Created: time.Unix(int64(i), 0)}
	}
	return out
}

func orderFor(provisioner string, uids ...string) *order {
	m := &decide.Machine{}
	for _, uid := range uids {
		m.Pods = append(m.Pods, cluster.PodKey{UID: uid})
	}
	return &order{Order: offer.Order{Provisioner: provisioner}, machines: []*decide.Machine{m}}
}

// Two agents that order for the same pods have the same id, whatever else has come up
// since; an agent that orders again after an answer has another one.
func TestLaunchID(t *testing.T) {
	pods := podsOfAge("z-oldest", "b", "a")
	one, other, now := newAttempts(), newAttempts(), time.Unix(100, 0)
	id := one.launchID(orderFor("p", "z-oldest", "b"), pods, now)
	if got := other.launchID(orderFor("p", "a", "b", "z-oldest"), pods, now); got != id {
		t.Errorf("another agent that has seen one pod more has id %s, want %s", got, id)
	}
	moving := orderFor("p")
	moving.machines[0].Moving = []decide.Move{{Pod: cluster.PodKey{UID: "z-oldest"}}}
	if got := other.launchID(moving, pods, now); got != id {
		t.Errorf("the same pod on the move has id %s, want %s", got, id)
	}
	seen := map[string]string{id: "the first order"}
	for _, c := range []struct {
		name string
		o    *order
	}{
		{"another Provisioner", orderFor("q", "z-oldest", "b")},
		{"another pod", orderFor("p", "b", "a")},
		{"a pod that is yet to be made", orderFor("p", "expected/owner/0")},
		{"the same at another time", orderFor("p", "expected/owner/0")},
	} {
		got := one.launchID(c.o, pods, now)
		if before := seen[got]; before != "" {
			t.Errorf("%s has the id of %s", c.name, before)
		}
		seen[got] = c.name
	}
	if got := one.launchID(orderFor("p", "z-oldest", "b"), pods, now.Add(attemptsShared)); got == id {
		t.Error("the id does not change with the age of the pods")
	}
	one.count(orderFor("p", "z-oldest", "b"))
	if got := one.launchID(orderFor("p", "z-oldest", "b"), pods, now); got == id {
		t.Error("an order that was answered has the same id again")
	}
	one.prune(&cluster.Snapshot{})
	if got := one.launchID(orderFor("p", "z-oldest", "b"), pods, now); got != id {
		t.Errorf("nothing is remembered of pods that are gone, got %s, want %s", got, id)
	}
}
