package agent

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// history is what the planning loop remembers between turns. Losing it at a
// restart costs a repeated event or a repeated attempt, nothing else. Only the
// planning loop uses it.
type history struct {
	firstSeen map[string]time.Time      // by UID: a pod was first seen waiting for a node
	told      map[string]said           // by UID: the last event about a pod
	planned   map[string]decide.Binding // by UID: where a waiting pod was placed
	kept      map[string]string         // by node: why it stays although it has a reason to go
	pauses    map[string]pause          // by Provisioner
	avoided   map[offering]avoidance
}

type said struct {
	text string
	at   time.Time
}

type pause struct {
	until    time.Time
	failures int
	message  string
}

type offering struct{ instanceType, zone, capacityType string }

type avoidance struct {
	until  time.Time
	reason string
}

func newHistory() history {
	return history{
		firstSeen: map[string]time.Time{},
		told:      map[string]said{},
		planned:   map[string]decide.Binding{},
		pauses:    map[string]pause{},
		avoided:   map[offering]avoidance{},
	}
}

// prune forgets pods that do not wait any more.
func (h *history) prune(s *cluster.Snapshot) {
	waiting := map[string]bool{}
	for _, p := range pending(s) {
		waiting[p.UID] = true
	}
	for uid := range h.firstSeen {
		if !waiting[uid] {
			delete(h.firstSeen, uid)
			delete(h.told, uid)
		}
	}
	maps.DeleteFunc(h.planned, func(uid string, _ decide.Binding) bool { return !waiting[uid] })
}

// place notes where a plan put the pods that still wait, so that the next plan
// leaves them there.
func (h *history) place(plan *decide.Plan, bought *launched) {
	clear(h.planned)
	for _, b := range plan.Bindings {
		if b.From == "" {
			h.planned[b.Pod.UID] = b
		}
	}
	for _, d := range bought.nodes {
		for _, pod := range d.machine.Pods {
			h.planned[pod.UID] = decide.Binding{Pod: pod, Node: d.instance.NodeName}
		}
	}
}

// placements returns the noted places of the pods that still wait, in the order
// of the snapshot.
func (h *history) placements(s *cluster.Snapshot) []decide.Binding {
	var out []decide.Binding
	for _, p := range pending(s) {
		if b, ok := h.planned[p.UID]; ok {
			out = append(out, b)
		}
	}
	return out
}

// earliest returns when the first of the order's pods was seen waiting.
func (h *history) earliest(o *order) time.Time {
	var first time.Time
	for _, m := range o.machines {
		for _, p := range m.Pods {
			if t, ok := h.firstSeen[p.UID]; ok && (first.IsZero() || t.Before(first)) {
				first = t
			}
		}
	}
	return first
}

// fail pauses a Provisioner after a launch that broke: 5 s, doubled each time, up
// to 2 min.
func (h *history) fail(provisioner, message string) {
	p := h.pauses[provisioner]
	p.failures++
	p.until = time.Now().Add(min(5*time.Second<<min(p.failures-1, 10), 2*time.Minute))
	p.message = message
	h.pauses[provisioner] = p
}

func (h *history) succeed(provisioner string) { delete(h.pauses, provisioner) }

// paused returns until when and why a Provisioner is paused; an empty message
// means that it is not.
func (h *history) paused(provisioner string) (time.Time, string) {
	p, ok := h.pauses[provisioner]
	if !ok || !time.Now().Before(p.until) {
		return time.Time{}, ""
	}
	return p.until, p.message
}

// avoidDuds keeps the offerings of machines that did not come up in time from
// being bought again for a while.
func (h *history) avoidDuds(v *view, startup time.Duration) {
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if n.Provisioner == "" || n.Ready || n.Initialized || n.Deleting || v.now.Sub(n.Created) < startup {
			continue
		}
		dud := offering{n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]}
		h.avoided[dud] = avoidance{until: v.now.Add(avoidTime), reason: "machine of node " + n.Name + " did not come up"}
	}
}

// withoutAvoided marks avoided offerings as unavailable, in a copy.
func (h *history) withoutAvoided(types []offer.InstanceType) []offer.InstanceType {
	for o, why := range h.avoided {
		if !time.Now().Before(why.until) {
			delete(h.avoided, o)
		}
	}
	if len(h.avoided) == 0 {
		return types
	}
	types = slices.Clone(types)
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			why, ok := h.avoided[offering{types[i].Name, o.Zone, o.CapacityType}]
			if ok && o.Unavailable == "" {
				o.Unavailable = fmt.Sprintf("%s, avoided until %s", why.reason, why.until.UTC().Format(time.TimeOnly))
			}
		}
	}
	return types
}
