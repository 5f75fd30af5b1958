package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
		"no window is open":         {spec: strings.Replace(consolidating, "drift", "windows: [{schedule: '0 22 * * *', duration: 8h}], drift", 1), given: []func(*world){four}, want: "n3=1 n4=2"},
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
		"so is one with data on its own disks": {given: []func(*world){func(w *world) {
			for i, n := range []int{3, 2, 1} {
				name := fmt.Sprintf("n%d", i+1)
				w.node(name, "medium", "a", nil).replicas(n, "web", name, core)
			}
			w.node("n4", "medium", "a", nil).local("n4", "data").replicas(1, "db", "n4", core+", "+claim("data"))
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

// A full node is not led away from because another Provisioner sells cheaper machines.
func TestGuidesMeasureByProvisioner(t *testing.T) {
	const core = "requests: {cpu: 1, memory: 4Gi}"
	w := newWorld(t, []offer.InstanceType{sold("cheap", 4, 0.05), sold("dear", 4, 0.2)})
	for _, name := range []string{"cheap", "dear"} {
		only := fmt.Sprintf("requirements: [{key: $type, operator: In, values: [%s]}, ", name)
		w.provisioner(name, strings.Replace(consolidating, "requirements: [", only, 1))
	}
	for i, n := range []int{3, 3, 1, 1} {
		name, provisioner := fmt.Sprintf("n%d", i+1), []string{"dear", "dear", "cheap", "cheap"}[i]
		w.node(name, provisioner, "a", func(n *cluster.Node) { n.Provisioner = provisioner }).replicas(n, "web-"+provisioner, name, core)
	}
	for i := range w.in.Snapshot.Pods { // nothing is due: only arrivals are looked at
		w.in.Snapshot.Pods[i].Since = noon.Add(-time.Second)
	}
	if got, want := guided(w.decide()), "n3=1 n4=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// moved adds two nodes with two small pods each, of which the node n2 could go, because n1 is in a node group. Its pods were moved there so long ago.
func (w *world) moved(ago time.Duration) *world {
	const half = "requests: {cpu: 500m, memory: 1Gi}"
	w.node("n1", "medium", "a", ofOthers)
	w.node("n2", "medium", "a", nil).replicas(2, "web", "n1", half).replicas(2, "web", "n2", half)
	w.in.Moved = map[string]time.Time{}
	for i := range w.in.Snapshot.Pods {
		p := &w.in.Snapshot.Pods[i]
		p.Since = noon.Add(-ago)
		if p.NodeName == "n2" {
			w.in.Moved[p.UID] = p.Since
		}
	}
	return w
}

// A pod that was moved costs ten times as much within the hour: it is not moved again for
// little, and still where that saves much.
func TestMovedPodsCostMore(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		cost string
		want string
	}{
		{59 * time.Minute, "1", "->"}, {time.Hour, "1", "n2 ->"}, {time.Minute, "0.1", "n2 ->"},
	} {
		w := newWorld(t, []offer.InstanceType{sold("medium", 4, 0.2)})
		w.provisioner("default", strings.Replace(consolidating, "disruption: {", fmt.Sprintf("disruption: {evictionCost: %q, ", c.cost), 1))
		if got := consolidated(w.moved(c.ago).decide()); got != c.want {
			t.Errorf("moved %s ago, at a cost of %s: got %q, want %q", c.ago, c.cost, got, c.want)
		}
	}
}

// withReserved is the type with an offering of a capacity reservation in zone a, of which so many are left.
func withReserved(t offer.InstanceType, left int64) offer.InstanceType {
	o := offer.Offering{Zone: "a", CapacityType: api.CapacityReserved, Reservation: "cr-1", Left: left, Price: offer.ReservedPrice(t.Offerings[0].Price)}
	if left == 0 {
		o.Unavailable = "capacity reservation cr-1 is full"
	}
	t.Offerings = append(slices.Clone(t.Offerings), o)
	t.Sort()
	return t
}

// That one Provisioner has room in a capacity reservation does not make it cheap to move the pods of another.
func TestReservationsDoNotMakeMovesCheap(t *testing.T) {
	for _, left := range []int64{0, 5} {
		w := newWorld(t, []offer.InstanceType{withReserved(sold("medium", 4, 0.2), left)}).provisioner("default", consolidating)
		w.provisioner("batch", "requirements: [{key: $capacity, operator: In, values: [reserved]}], taints: [{key: batch, effect: NoSchedule}]")
		if got := consolidated(w.moved(59 * time.Minute).decide()); got != "->" {
			t.Errorf("%d are left in the reservation: got %q, want that nothing is moved", left, got)
		}
	}
}

// A node in a capacity reservation, which costs next to nothing, says nothing of how well others are used, and
// nothing is led away from it.
func TestGuidesLeaveOutReservedNodes(t *testing.T) {
	const core = "requests: {cpu: 1, memory: 1Gi}"
	w := newWorld(t, []offer.InstanceType{withReserved(sold("medium", 4, 0.2), 0)}).provisioner("default", consolidating)
	for i, n := range []int{3, 2, 1, 1} {
		name := fmt.Sprintf("n%d", i+1)
		w.node(name, "medium", "a", nil).replicas(n, "web", name, core)
	}
	w.node("reserved", "medium", "a", func(n *cluster.Node) { n.Labels[api.LabelCapacityType] = api.CapacityReserved }).replicas(1, "web", "reserved", core)
	for i := range w.in.Snapshot.Pods { // nothing is due: only arrivals are looked at
		w.in.Snapshot.Pods[i].Since = noon.Add(-time.Second)
	}
	if got, want := guided(w.decide()), "n3=1 n4=2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// steered says in short which marks of pods a plan changes.
func steered(p Plan) string {
	var out []string
	for _, s := range p.Steers {
		out = append(out, fmt.Sprintf("%s=%d", s.Pod.Name, s.Grade))
	}
	return strings.Join(out, " ")
}

// Pods on nodes that should become empty are marked to be ended first, where a ReplicaSet
// would look at it and nobody else has said anything.
func TestSteers(t *testing.T) {
	const core = "requests: {cpu: 1, memory: 1Gi}"
	each := func(change func(*cluster.Pod)) func(*world) {
		return func(w *world) {
			for i := range w.in.Snapshot.Pods {
				change(&w.in.Snapshot.Pods[i])
			}
		}
	}
	for name, c := range map[string]struct {
		spec  string
		given func(*world)
		want  string
	}{
		"on the emptiest":         {given: func(*world) {}, want: "web-3=1"},
		"marked already":          {given: each(func(p *cluster.Pod) { p.Steered = map[string]int{"n2": 1}[p.NodeName] }), want: ""},
		"marks that are too many": {given: each(func(p *cluster.Pod) { p.Steered = 1 }), want: "web-0=0 web-1=0 web-2=0"},
		"somebody else's cost":    {given: each(func(p *cluster.Pod) { p.CostSet = true }), want: ""},
		"another kind of owner":   {given: each(func(p *cluster.Pod) { p.Owner.Kind = "StatefulSet" }), want: ""},
		"the option is off":       {given: func(w *world) { w.in.Settings.NotSteered = true }, want: ""},
		"it goes with the option": {given: func(w *world) { each(func(p *cluster.Pod) { p.Steered = 2 })(w); w.in.Settings.NotSteered = true }, want: "web-0=0 web-1=0 web-2=0 web-3=0"},
		"without guiding":         {given: func(w *world) { w.in.Settings.NotGuided = true }, want: "web-3=1"},
		"consolidation is off":    {spec: "disruption: {drift: false}", given: each(func(p *cluster.Pod) { p.Steered = 1 }), want: "web-0=0 web-1=0 web-2=0 web-3=0"},
		"a node that is not ours": {given: func(w *world) {
			w.in.Snapshot.Nodes[1].Provisioner = ""
			each(func(p *cluster.Pod) { p.Steered = 1 })(w)
		}, want: "web-0=0 web-1=0 web-2=0 web-3=0"},
		"pods that are being moved": {given: func(w *world) {
			each(func(p *cluster.Pod) { p.Steered = cluster.GradeSurge })(w)
			w.in.Snapshot.Nodes[0].Annotations = map[string]string{api.AnnotationSurging: "[]"}
		}, want: "web-3=1"},
		"a node that goes": {given: func(w *world) {
			each(func(p *cluster.Pod) { p.Steered = 1 })(w)
			w.in.Snapshot.Nodes[0].Deleting = true
		}, want: "web-3=0"},
		"pods that are going":       {given: each(func(p *cluster.Pod) { p.State = cluster.PodTerminating }), want: ""},
		"nobody looks at the nodes": {given: func(w *world) { w.in.NotConsolidated = true }, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop()[1:2])
			w.provisioner("default", cmp.Or(c.spec, consolidating))
			w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(3, "web", "n1", core).replicas(1, "web", "n2", core)
			for i := range w.in.Snapshot.Pods { // nothing is due: only departures are looked at
				w.in.Snapshot.Pods[i].Since = noon.Add(-time.Second)
			}
			c.given(w)
			if got := steered(w.decide()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Of more pods than one plan marks, those that should end soonest come first, and with them those
// that have such a mark and should lose it.
func TestFirstSteers(t *testing.T) {
	of := func(name string, was, grade int) Steer {
		return Steer{Pod: cluster.PodKey{Name: name}, Grade: grade, was: was}
	}
	all := []Steer{of("kept-long", 0, 1), of("unmarked", 9, 0), of("soon", 0, 5), of("sooner", 3, 7)}
	if got := steered(Plan{Steers: firstSteers(slices.Clone(all), 3)}); got != "unmarked=0 sooner=7 soon=5" {
		t.Errorf("got %q of four", got)
	}
	if got := firstSteers(slices.Clone(all), 4); !slices.Equal(got, all) {
		t.Errorf("four of four are in another order: %v", got)
	}
}
