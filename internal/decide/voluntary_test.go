package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// The oldest nodes do not hold up the others if they cannot be spared, however many they are.
func TestStuckNodesDoNotHoldUpOthers(t *testing.T) {
	for _, stuck := range []int{2, 9, 10, 20} {
		types := catalogueA()
		for i := range types {
			types[i].Offerings = slices.DeleteFunc(slices.Clone(types[i].Offerings), func(o offer.Offering) bool { return o.Zone == "b" })
		}
		w := newWorld(t, types).provisioner("default", "{ttlSecondsUntilExpired: 600}")
		for i := range 100 {
			name, zone, text := fmt.Sprintf("n%03d", i), "a", "requests: {cpu: 1.5}"
			if i < stuck {
				zone, text = "b", "{requests: {cpu: 1.5}, nodeSelector: {$zone: b}}"
			}
			w.node(name, "small", zone, func(n *cluster.Node) { n.Created = noon.Add(-time.Hour * time.Duration(200-i)) }).running("r"+name, name, text)
		}
		went := map[string]bool{}
		for turn := range 5 { // a place to begin at may be among them
			w.in.Now = noon.Add(time.Duration(turn) * time.Minute)
			for _, r := range w.decide().Removals {
				went[r.Node] = true
			}
		}
		if len(went) == 0 {
			t.Errorf("%d are stuck, and none of the others goes", stuck)
		}
		for i := range stuck {
			if went[fmt.Sprintf("n%03d", i)] {
				t.Errorf("n%03d goes, whose pod has no other place", i)
			}
		}
	}
}

// An empty node goes as such if no node may go for the other reason that it has.
func TestEmptyNodeWithAnotherReason(t *testing.T) {
	for reason, spec := range map[string]string{
		api.ReasonExpiry: "ttlSecondsUntilExpired: 1800, disruption: {drift: false, budgets: [{nodes: '0', reasons: [expiry]}]}",
		api.ReasonDrift:  "disruption: {budgets: [{nodes: '0', reasons: [drift]}]}",
	} {
		w := newWorld(t, catalogueA()).provisioner("default", "{consolidation: {enabled: true}, "+wants("$os In windows")+", "+spec+"}")
		w.node("n", "small", "a", func(n *cluster.Node) {
			n.Annotations[api.AnnotationEmptiness] = noon.Add(-30 * time.Minute).Format(time.RFC3339)
		})
		plan := w.decide()
		if len(plan.Removals) != 1 || plan.Removals[0].Reason != Empty || len(plan.Kept) > 0 {
			t.Errorf("%s: removals %+v, kept %+v", reason, plan.Removals, plan.Kept)
		}
	}
}

// A node whose replacement is being bought uses up the budget, and may be chosen again itself.
func TestPostponedNodesUseBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		held bool
		want int
	}{
		"the node is protected for a moment": {held: true},
		"it is chosen again":                 {want: 1},
	} {
		w := newWorld(t, catalogueA()).provisioner("default", "{ttlSecondsUntilExpired: 1800, disruption: {budgets: [{nodes: '1'}]}}")
		text := "requests: {cpu: 1}"
		if c.held {
			text = "{requests: {cpu: 1}, annotations: {karpenter.sh/do-not-disrupt: 'true'}}"
		}
		w.node("n1", "small", "a", nil).running("r1", "n1", text).node("n2", "small", "a", nil).running("r2", "n2", "requests: {cpu: 1}")
		w.in.Begun = map[string]bool{"n1": true}
		removals := w.decide().Removals
		if len(removals) != c.want || c.want > 0 && removals[0].Node != "n1" {
			t.Errorf("%s: %+v", name, removals)
		}
	}
}

// Nothing is bought in the place of a node shortly before nothing may go any more: it would come up too late.
func TestNoReplacementAtTheLastMoment(t *testing.T) {
	for limit, when := range map[string]string{
		"windows: [{schedule: '0 10 * * *', duration: %s}]":                                                                "2h1m 2h10m",
		"windows: [{schedule: '0 10 * * *', duration: 2h1m}, {schedule: '1 12 * * *', duration: %s}]":                      "1m 1h",
		"budgets: [{nodes: '0', schedule: '2 12 * * *', duration: 8h}, {nodes: '0', schedule: '0 4 * * *', duration: %s}]": "1h",
		"budgets: [{nodes: '0', schedule: '2 12 * * *', duration: 8h, reasons: [drift]}, {nodes: '%s'}]":                   " 1",
		"budgets: [{nodes: '0', schedule: '4 12 * * *', duration: 8h}, {nodes: '%s'}]":                                     " 1",
	} {
		tooLate, inTime, _ := strings.Cut(when, " ")
		for value, goes := range map[string]bool{tooLate: false, inTime: true} {
			if value == "" {
				continue
			}
			w := newWorld(t, catalogueA()).provisioner("default", "{ttlSecondsUntilExpired: 1800, disruption: {"+fmt.Sprintf(limit, value)+"}}")
			w.node("used", "small", "a", nil).running("r", "used", "requests: {cpu: 1}")
			check := func(what string, want bool) {
				gone := slices.ContainsFunc(w.decide().Removals, func(r Removal) bool { return r.Node == "used" })
				if gone != want {
					t.Errorf("%s, with %s, %s: it goes: %t, want %t", limit, value, what, gone, want)
				}
			}
			check("nothing is bought", goes)
			w.in.Begun = map[string]bool{"used": true}
			check("its replacement is being bought", true)
		}
	}
}

// A node in whose place no machine is bought for now goes, whatever its reason, only if its pods fit on other nodes. It
// does not hold up others.
func TestVoluntaryNodesThatAreNotReplacedNow(t *testing.T) {
	const until = "not all machines could be bought"
	w := newWorld(t, catalogueA()).provisioner("default", "{ttlSecondsUntilExpired: 1800, disruption: {budgets: [{nodes: '100%'}]}}")
	w.node("n1", "small", "a", nil).running("r1", "n1", "requests: {cpu: 1}")
	w.node("n2", "small", "a", nil).running("r2", "n2", "requests: {cpu: 1}")
	w.in.Unreplaced = map[string]string{"n1": until}
	plan := w.decide()
	verify(t, &w.in, &plan)
	if len(plan.Removals) != 1 || plan.Removals[0].Node != "n2" || len(plan.Kept) != 1 || plan.Kept[0].Why != until {
		t.Errorf("removals %+v, kept %+v", plan.Removals, plan.Kept)
	}
	w.node("n3", "std", "a", func(n *cluster.Node) { n.Created = noon })
	if plan := w.decide(); len(plan.Removals) != 2 || len(plan.Machines) > 0 {
		t.Errorf("beside a node with room: removals %+v, kept %+v", plan.Removals, plan.Kept)
	}
}

// A pod that waits keeps the place that it has if an expired node goes, also if another pod gets one instead.
func TestPendingPodsKeepTheirPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		also string // another pod of the node that stays
		want string
	}{
		"there is room for both":        {want: "old"},
		"there is room for one of them": {also: "requests: {cpu: 1}"},
	} {
		types := catalogueA()
		for i := range types { // nothing is sold in zone b
			types[i].Offerings = slices.DeleteFunc(slices.Clone(types[i].Offerings), func(o offer.Offering) bool { return o.Zone == "b" })
		}
		w := newWorld(t, types).provisioner("default", "{ttlSecondsUntilExpired: 600}")
		w.node("old", "small", "a", nil).node("young", "std", "b", func(n *cluster.Node) { n.Created = noon.Add(-time.Minute) })
		w.running("moves", "old", "labels: {app: moves}, priority: 100, requests: {cpu: 1.5}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: $host, operator: In, values: [old, young]}]}]}}}")
		if c.also != "" {
			w.running("other", "young", c.also)
		}
		w.pods(1, "has-room", "requests: {cpu: 1.5}, nodeSelector: {$zone: b}")
		w.pods(1, "has-none", "requests: {cpu: 1.5}, nodeSelector: {$zone: a}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $zone, labelSelector: {matchLabels: {app: moves}}}]}}")
		p := w.decide()
		var gone []string
		for _, r := range p.Removals {
			gone = append(gone, r.Node)
		}
		if got := strings.Join(gone, " "); got != c.want {
			t.Errorf("%s: %q goes, want %q; kept %+v, without a place %+v", name, got, c.want, p.Kept, p.Unplaced)
		}
	}
}
