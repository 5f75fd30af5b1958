package decide

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// guided says in short which grades a plan changes.
func guided(p Plan) string {
	var out []string
	for _, g := range p.Guides {
		out = append(out, fmt.Sprintf("%s=%d", g.Node, g.Grade))
	}
	return strings.Join(out, " ")
}

// New pods are led away from the nodes that the pods would not need if the others were full.
func TestGuides(t *testing.T) {
	const core = "requests: {cpu: 1, memory: 1Gi}"
	// Of four cores each, n1 uses three, n2 two, n3 and n4 one: two nodes would do.
	four := func(w *world) {
		for i, n := range []int{3, 2, 1, 1} {
			name := fmt.Sprintf("n%d", i+1)
			w.node(name, "medium", "a", nil).replicas(n, "web", name, core)
		}
	}
	graded := func(grade int) func(*world) {
		return func(w *world) {
			for i := range w.in.Snapshot.Nodes {
				w.in.Snapshot.Nodes[i].Guide = grade
			}
		}
	}
	for name, c := range map[string]struct {
		spec  string
		given []func(*world)
		want  string
	}{
		"the emptiest most":         {given: []func(*world){four}, want: "n3=1 n4=2"},
		"only changes are listed":   {given: []func(*world){four, func(w *world) { w.in.Snapshot.Nodes[2].Guide, w.in.Snapshot.Nodes[3].Guide = 1, 2 }}, want: ""},
		"all are needed":            {given: []func(*world){func(w *world) { w.node("n1", "medium", "a", nil).replicas(3, "web", "n1", core) }}, want: ""},
		"consolidation is off":      {spec: "disruption: {drift: false}", given: []func(*world){four, graded(2)}, want: "n1=0 n2=0 n3=0 n4=0"},
		"consolidateAfter is Never": {spec: strings.Replace(consolidating, "drift", "consolidateAfter: Never, drift", 1), given: []func(*world){four, graded(1)}, want: "n1=0 n2=0 n3=0 n4=0"},
		"the option is off":         {given: []func(*world){four, graded(1), func(w *world) { w.in.Settings.NotGuided = true }}, want: "n1=0 n2=0 n3=0 n4=0"},
		"evictionCost is Never":     {spec: strings.Replace(consolidating, "drift", "evictionCost: Never, drift", 1), given: []func(*world){four}, want: "n3=1 n4=2"},
		"nodes of others":           {given: []func(*world){four, func(w *world) { w.in.Snapshot.Nodes[3].Provisioner = "" }}, want: "n3=1"},
		"a node that goes":          {given: []func(*world){four, func(w *world) { w.in.Snapshot.Nodes[3].Deleting = true }}, want: "n3=1"},
		"nobody looks at them":      {given: []func(*world){four, graded(1), func(w *world) { w.in.NotConsolidated = true }}, want: ""},
		"equal nodes keep the order": {given: []func(*world){func(w *world) {
			w.node("n1", "medium", "a", nil).replicas(1, "web", "n1", core)
			w.node("n2", "medium", "a", nil).replicas(1, "web", "n2", core)
			w.in.Snapshot.Nodes[0].Guide = 1
		}}, want: ""},
		"one that cannot go is kept": {given: []func(*world){four, func(w *world) {
			for i := range w.in.Snapshot.Pods {
				if p := &w.in.Snapshot.Pods[i]; p.NodeName == "n4" {
					p.Template = protected(p.Template, true, 0)
				}
			}
		}}, want: "n2=1 n3=2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop()[1:2])
			w.provisioner("default", cmp.Or(c.spec, consolidating))
			for _, f := range c.given {
				f(w)
			}
			// Nothing is due: only arrivals are looked at.
			for i := range w.in.Snapshot.Pods {
				w.in.Snapshot.Pods[i].Since = noon.Add(-time.Second)
			}
			if got := guided(w.decide()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A pod that was moved is not moved again within the hour, and the agent looks again then.
func TestMovedPodsRest(t *testing.T) {
	for ago, want := range map[time.Duration]string{59 * time.Minute: "->", time.Hour: "n2 ->"} {
		w := newWorld(t, []offer.InstanceType{sold("medium", 4, 0.2)})
		w.provisioner("default", consolidating)
		const half = "requests: {cpu: 500m, memory: 1Gi}"
		w.node("n1", "medium", "a", func(n *cluster.Node) { n.Provisioner = "" })
		w.node("n2", "medium", "a", nil).replicas(1, "web", "n1", half).replicas(1, "web", "n2", half)
		w.older()
		for i := range w.in.Snapshot.Pods {
			if p := &w.in.Snapshot.Pods[i]; p.NodeName == "n2" {
				w.in.Moved = map[string]time.Time{p.UID: noon.Add(-ago)}
			}
		}
		p := w.decide()
		if got := consolidated(p); got != want {
			t.Errorf("moved %s ago: got %q, want %q", ago, got, want)
		}
		if ago < time.Hour {
			if next := noon.Add(time.Hour - ago); !p.Consolidation.Next.Equal(next) || !strings.Contains(why(p, "n2"), "was moved less than 1h ago") {
				t.Errorf("next %s, want %s; %s", p.Consolidation.Next, next, why(p, "n2"))
			}
		}
	}
}
