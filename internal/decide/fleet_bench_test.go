package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// BenchmarkFleet decides on clusters of several sizes, with ten pods on each node:
// one in which nothing is to be done, one whose nodes have all expired, and one in
// which two fifths of them are being replaced. The time for each node must not grow
// with the cluster.
func BenchmarkFleet(b *testing.B) {
	for _, nodes := range []int{100, 300, 1000} {
		calm := fleet(b, nodes, "{}")
		old := fleet(b, nodes, "{ttlSecondsUntilExpired: 60, disruption: {budgets: [{nodes: 40%}]}}")
		for _, c := range []struct {
			name string
			in   Input
		}{{"nothing to do", calm.in}, {"all expired", old.in}, {"two fifths on their way", underway(b, old.in)}} {
			b.Run(fmt.Sprintf("%s/nodes=%d", c.name, nodes), func(b *testing.B) {
				var plan Plan
				for b.Loop() {
					plan = Decide(c.in)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*nodes), "µs/node")
				b.ReportMetric(float64(len(plan.Removals)), "removals")
				b.ReportMetric(float64(len(plan.Machines)), "machines")
			})
		}
	}
}

// fleet is a cluster of equal nodes with ten pods and a DaemonSet's on each.
func fleet(b *testing.B, nodes int, spec string) *world {
	b.Helper()
	types := slices.DeleteFunc(realTypes(b), func(t offer.InstanceType) bool { return t.Name != "m5.large" && t.Name != "m5a.large" })
	w := newWorld(b, types)
	w.in.Prove = false
	usual(w, spec)
	w.daemonSet("logs", "requests: {cpu: 10m, memory: 16Mi}")
	web := w.running("web", "any", "{requests: {cpu: 180m, memory: 64Mi}, labels: {app: web}}").in.Snapshot.Pods[0]
	w.in.Snapshot.Pods = nil
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		w.node(name, "m5.large", "us-east-1a", nil)
		for k := range 10 {
			p := web
			p.Name = fmt.Sprintf("web-%04d-%d", i, k)
			p.UID, p.NodeName = p.Name, name
			w.in.Snapshot.Pods = append(w.in.Snapshot.Pods, p)
		}
	}
	w.in.Snapshot.Sort()
	return w
}

// underway is what the agent sees after it has carried out the plan for an input:
// marked nodes, and machines that are not up yet.
func underway(b *testing.B, in Input) Input {
	b.Helper()
	plan := Decide(in)
	s := &cluster.Snapshot{Pods: in.Snapshot.Pods, DaemonSets: in.Snapshot.DaemonSets, Nodes: slices.Clone(in.Snapshot.Nodes)}
	replacedBy := map[string]string{}
	for _, r := range plan.Removals {
		for _, m := range r.Replacements {
			replacedBy[r.Node] += ",new-" + m
		}
	}
	like := s.Nodes[0]
	for i := range s.Nodes {
		if by, going := replacedBy[s.Nodes[i].Name]; going {
			s.Nodes[i].Annotations = map[string]string{api.AnnotationDisruption: api.ReasonExpiry, api.AnnotationReplacedBy: by}
		}
	}
	in.Planned = nil
	for _, m := range plan.Machines {
		n := like
		n.Name, n.Ready, n.Initialized, n.Created = "new-"+m.Name, false, false, in.Now.Add(-time.Second)
		s.Nodes = append(s.Nodes, n)
		for _, move := range m.Moving {
			in.Planned = append(in.Planned, Binding{Pod: move.Pod, Node: n.Name, From: move.From})
		}
	}
	in.Snapshot = s
	s.Sort()
	return in
}
