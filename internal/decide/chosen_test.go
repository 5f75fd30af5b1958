package decide

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// chosenFor marks a node as chosen for a reason some time ago; node new is its replacement.
func chosenFor(reason string, since time.Duration) func(*cluster.Node) {
	return func(n *cluster.Node) {
		n.Annotations[api.AnnotationDisruption], n.Annotations[api.AnnotationReplacedBy] = reason, "new"
		n.Annotations[api.AnnotationDisruptedAt] = noon.Add(-since).Format(time.RFC3339)
		n.Taints = append(n.Taints, corev1.Taint{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule})
	}
}

// What has come up since a node was chosen keeps it.
func TestChosenStays(t *testing.T) {
	bare := func(w *world) {
		p := w.pod("bare", "requests: {cpu: 100m}")
		p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = "n", corev1.PodRunning, nil
		w.add(p)
	}
	coming := func(since time.Duration) func(*world) { // another pod keeps the replacement, whose startup taint stays
		return func(w *world) {
			w.running("other", "new", "requests: {cpu: 100m}").in.Settings.StartupTimeout = 15 * time.Minute
			n := &w.in.Snapshot.Nodes[slices.IndexFunc(w.in.Snapshot.Nodes, func(n cluster.Node) bool { return n.Name == "new" })]
			n.Initialized, n.Created = false, noon.Add(-since)
			n.Taints = []corev1.Taint{{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoSchedule}}
		}
	}
	for name, c := range map[string]struct {
		spec, reason string
		given        func(*world)
		want         Verdict
	}{
		"a pod without a controller came before the taint, expiry":        {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, bare, Stay},
		"a pod without a controller came before the taint, consolidation": {"consolidation: {enabled: true}", api.ReasonConsolidation, bare, Stay},
		"a pod of a Job came before the taint, consolidation": {"consolidation: {enabled: true}", api.ReasonConsolidation, func(w *world) {
			w.running("job", "n", "{owner: Job/batch, requests: {cpu: 100m}}")
		}, Stay},
		"a pod of a Job came before the taint, expiry": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			w.running("job", "n", "{owner: Job/batch, requests: {cpu: 100m}}")
		}, Go},
		"a pod has its data on the node's own disks, consolidation": {"consolidation: {enabled: true}", api.ReasonConsolidation, func(w *world) {
			w.local("n", "data").running("db", "n", "{requests: {cpu: 100m}, "+claim("data")+"}")
		}, Stay},
		"a pod has its data on the node's own disks, expiry": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			w.local("n", "data").running("db", "n", "{requests: {cpu: 100m}, "+claim("data")+"}")
		}, Go},
		"surge has not been able to move a pod for long": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			p := &w.in.Snapshot.Pods[0]
			p.Covered, p.Held = true, "can only be moved once all 3 pods of Deployment web are ready"
		}, Stay},
		"a pod has been under two PodDisruptionBudgets for long": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			w.budget("first", "", 1).budget("second", "", 1)
		}, Stay},
		"the agent has not been allowed to act for long": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			w.in.Provisioners[0].Blocked = "its node profile is gone"
		}, Stay},
		"no window is open any more, expiry":                     {"{ttlSecondsUntilExpired: 30, disruption: {windows: [{schedule: '0 22 * * *', duration: 8h}]}}", api.ReasonExpiry, func(*world) {}, Stay},
		"no window is open any more, consolidation":              {"{consolidation: {enabled: true}, disruption: {windows: [{schedule: '0 22 * * *', duration: 8h}]}}", api.ReasonConsolidation, func(*world) {}, Stay},
		"the budget is 0 by now, expiry":                         {"{ttlSecondsUntilExpired: 30, disruption: {budgets: [{nodes: '0'}]}}", api.ReasonExpiry, func(*world) {}, Stay},
		"the budget for drift is 0 by now, expiry":               {"{ttlSecondsUntilExpired: 30, disruption: {budgets: [{nodes: '0', reasons: [drift]}]}}", api.ReasonExpiry, func(*world) {}, Go},
		"the replacement has not come up in time, expiry":        {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, coming(15 * time.Minute), Stay},
		"the replacement has not come up in time, consolidation": {"consolidation: {enabled: true}", api.ReasonConsolidation, coming(15 * time.Minute), Stay},
		"the replacement may still come up in time":              {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, coming(14 * time.Minute), Wait},
		"the replacement is not ready any more": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(w *world) {
			n := &w.in.Snapshot.Nodes[slices.IndexFunc(w.in.Snapshot.Nodes, func(n cluster.Node) bool { return n.Name == "new" })]
			n.Ready, n.UnreadySince = false, noon.Add(-5*time.Second)
		}, Wait},
		"DEPROV-023: the lifetime is longer by now":   {"ttlSecondsUntilExpired: 4000", api.ReasonExpiry, func(*world) {}, Stay},
		"DEPROV-072: nothing is switched on any more": {"disruption: {drift: false}", api.ReasonDrift, func(*world) {}, Stay},
		"nothing": {"ttlSecondsUntilExpired: 30", api.ReasonExpiry, func(*world) {}, Go},
	} {
		w := newWorld(t, catalogueA()).provisioner("default", c.spec)
		w.node("n", "small", "a", chosenFor(c.reason, 5*time.Hour)).node("new", "small", "a", func(n *cluster.Node) { n.Created = noon.Add(-10 * time.Second) })
		w.running("r", "n", "requests: {cpu: 1}")
		w.in.Snapshot.Pods[0].Since = noon.Add(-6 * time.Hour)
		c.given(w)
		if plan := w.decide(); len(plan.Chosen) != 1 || plan.Chosen[0].Verdict != c.want {
			t.Errorf("%s: %+v, want %s", name, plan.Chosen, c.want)
		}
	}
}

// A budget that allows nothing any more keeps nodes that were chosen. One that only allows fewer does so for
// consolidation alone, since nodes that it does not count may have joined those that were taken for other reasons.
func TestChosenBeyondABudget(t *testing.T) {
	for name, c := range map[string]struct {
		reason, nodes string
		want          int
	}{
		"nothing, expiry":        {api.ReasonExpiry, "0", 3},
		"fewer, expiry":          {api.ReasonExpiry, "2", 0},
		"fewer, consolidation":   {api.ReasonConsolidation, "2", 1},
		"as many, consolidation": {api.ReasonConsolidation, "3", 0},
	} {
		w := newWorld(t, catalogueA()).provisioner("default", "{consolidation: {enabled: true}, ttlSecondsUntilExpired: 30, disruption: {budgets: [{nodes: '"+c.nodes+"'}]}}")
		for _, name := range []string{"n1", "n2", "n3"} {
			w.node(name, "small", "a", func(n *cluster.Node) {
				chosenFor(c.reason, time.Minute)(n)
				n.Annotations[api.AnnotationReplacedBy] = "new-" + name
			}).running("r"+name, name, "requests: {cpu: 1}").node("new-"+name, "small", "a", nil)
		}
		for i := range w.in.Snapshot.Pods {
			w.in.Snapshot.Pods[i].Since = noon.Add(-time.Hour)
		}
		stay := 0
		for _, c := range w.decide().Chosen {
			if c.Verdict == Stay {
				stay++
			}
		}
		if stay != c.want {
			t.Errorf("%s: %d of 3 stay, want %d", name, stay, c.want)
		}
	}
}

// A step of consolidation for two nodes, which pays as a whole, is not carried out for one of them, also if the agent has
// ended before it could mark the other one, or remove its mark.
func TestChosenGoTogether(t *testing.T) {
	protect := func(w *world) {
		w.running("protected", "n2", "{requests: {cpu: 100m}, annotations: {karpenter.sh/do-not-disrupt: 'true'}}")
	}
	other := func(edit func(n *cluster.Node)) func(*world) {
		return func(w *world) { edit(w.in.Snapshot.Node("n2")) }
	}
	for name, c := range map[string]struct {
		reason string
		given  func(*world)
		want   Verdict
	}{
		"nothing has changed":                    {api.ReasonConsolidation, func(*world) {}, Go},
		"the other one stays":                    {api.ReasonConsolidation, protect, Stay},
		"the other one stays, expiry":            {api.ReasonExpiry, protect, Go},
		"the other one is not marked":            {api.ReasonConsolidation, other(func(n *cluster.Node) { n.Annotations, n.Taints = map[string]string{}, nil }), Stay},
		"the other one is being drained":         {api.ReasonConsolidation, other(func(n *cluster.Node) { n.Deleting = true }), Go},
		"the other one has gone":                 {api.ReasonConsolidation, other(func(n *cluster.Node) { n.Name = "n3" }), Go},
		"a new machine has the other one's name": {api.ReasonConsolidation, other(func(n *cluster.Node) { n.Annotations, n.Taints, n.Created = map[string]string{}, nil, noon }), Go},
	} {
		w := newWorld(t, catalogueA()).provisioner("default", "{consolidation: {enabled: true}, ttlSecondsUntilExpired: 30, disruption: {budgets: [{nodes: '100%'}]}}")
		mark := func(n *cluster.Node) {
			chosenFor(c.reason, time.Minute)(n)
			if c.reason == api.ReasonConsolidation {
				n.Annotations[api.AnnotationDisruptedWith] = "n1,n2"
			}
		}
		w.node("n1", "small", "a", mark).node("n2", "small", "a", mark).node("new", "std", "a", nil)
		w.running("a", "n1", "requests: {cpu: 500m}").running("b", "n2", "requests: {cpu: 500m}")
		for i := range w.in.Snapshot.Pods {
			w.in.Snapshot.Pods[i].Since = noon.Add(-time.Hour)
		}
		c.given(w)
		if chosen := w.decide().Chosen; len(chosen) == 0 || chosen[0].Node != "n1" || chosen[0].Verdict != c.want {
			t.Errorf("%s: %+v, want %s for n1", name, chosen, c.want)
		}
	}
}
