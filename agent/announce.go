package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// A controller makes the pods of a large scale-up one after the other, which takes
// seconds or even minutes. Once the scheduler has found no node for the first of them,
// machines for all are bought: the pods that their owner is about to make are announced,
// and count as more of those that it has made. They exist in what is decided on and in
// the machines that are bought for them; nothing is bound to a node or told about them.

// announcement says how many pods an owner will have.
type announcement struct {
	wanted int
	until  time.Time // it is believed
}

// announcedPrefix starts the UID of an announced pod. UIDs of the API server have no slash.
const announcedPrefix = "announced/"

func isAnnounced(p cluster.PodKey) bool { return strings.HasPrefix(p.UID, announcedPrefix) }

// announce notes what the owner of a pod wants, until the given time. Pods with volumes
// of their own are not like the one that is there.
func (h *history) announce(p *cluster.Pod, wanted cluster.Wanted, until time.Time) {
	if !wanted.Certain || len(p.Template.Claims) > 0 || p.Template.ResourceClaims {
		delete(h.announced, p.Owner.UID)
		return
	}
	h.announced[p.Owner.UID] = announcement{wanted.Pods, until}
}

// expect returns the snapshot with the announced pods of the owners that have pods
// waiting for a node. None are expected of an owner whose pods wait for something else
// too, such as a scheduling gate. The argument is not changed.
func (h *history) expect(s *cluster.Snapshot, now time.Time) *cluster.Snapshot {
	maps.DeleteFunc(h.announced, func(_ string, a announcement) bool { return now.After(a.until) })
	if len(h.announced) == 0 {
		return s
	}
	have, model := made(s), map[string]*cluster.Pod{}
	for i := range s.Pods {
		p := &s.Pods[i]
		switch a, announced := h.announced[p.Owner.UID]; {
		case announced && p.State == cluster.PodPending:
			model[p.Owner.UID] = p
		case announced && p.State == cluster.PodWaiting:
			have[p.Owner.UID] = a.wanted
		}
	}
	out := *s
	out.Pods = slices.Clip(s.Pods)
	for owner, p := range model {
		for n := range h.announced[owner].wanted - have[owner] {
			out.Pods = append(out.Pods, another(p, n))
		}
	}
	if len(out.Pods) > len(s.Pods) {
		out.Sort()
	}
	return &out
}

// made counts the pods of each owner, by UID, that are not going.
func made(s *cluster.Snapshot) map[string]int {
	have := map[string]int{}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.State != cluster.PodTerminating {
			have[p.Owner.UID]++
		}
	}
	return have
}

// another returns the n-th announced pod that will be like the given one.
func another(p *cluster.Pod, n int) cluster.Pod {
	out := *p
	out.Name = fmt.Sprintf("%s-announced-%d", p.Owner.Name, n)
	out.UID = fmt.Sprintf("%s%s/%d", announcedPrefix, p.Owner.UID, n)
	out.Foreseen = true
	return out
}

// withoutAnnounced drops what a plan says of announced pods, but for the machines
// that are bought for them.
func withoutAnnounced(plan decide.Plan) decide.Plan {
	plan.Bindings = slices.DeleteFunc(plan.Bindings, func(b decide.Binding) bool { return isAnnounced(b.Pod) })
	plan.Unplaced = slices.DeleteFunc(plan.Unplaced, func(u decide.Unplaced) bool { return isAnnounced(u.Pod) })
	return plan
}
