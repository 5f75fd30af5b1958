package pack

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// burst is a problem with so many pods of each owner, of which a machine holds one or
// two, depending on the owner.
func burst(pods int, owners ...string) *assign.Problem {
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	for _, zone := range []string{"a", "b", "c"} {
		small.Offerings = append(small.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: 1000})
	}
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}, Provisioners: []assign.Provisioner{{Spec: spec, Types: []offer.InstanceType{small}}}}
	for i, owner := range owners {
		t := &cluster.Template{Namespace: "default", Requests: amount.List{amount.CPU: 2000 / int64(1+i%2), amount.Pods: 1}}
		for k := range pods {
			pod := &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("%s-%03d", owner, k)}, Template: t, Owner: cluster.Owner{Kind: "ReplicaSet", Name: owner}}
			p.Pods = append(p.Pods, assign.Demand{Pod: pod})
		}
	}
	return p
}

// zonesOf counts machines, and the pods of each owner, by zone.
func zonesOf(p *assign.Problem, l *Layout) map[string]map[string]int {
	out := map[string]map[string]int{"machines": {}}
	for _, m := range l.Machines {
		zone := m.Candidates[0].Zone
		out["machines"][zone]++
		for _, i := range m.Pods {
			owner := p.Pods[i].Pod.Owner.Name
			if out[owner] == nil {
				out[owner] = map[string]int{}
			}
			out[owner][zone]++
		}
	}
	return out
}

// TestZonesAreBalanced: where a type costs the same in all zones, a burst goes to all of
// them, each workload by itself and all machines together, and costs no more.
func TestZonesAreBalanced(t *testing.T) {
	p := burst(200, "api", "web")
	l := Solve(p)
	if len(l.Machines) != 300 {
		t.Fatalf("%d machines, want 300", len(l.Machines))
	}
	for what, in := range zonesOf(p, l) {
		counts := slices.Collect(maps.Values(in))
		if len(counts) != 3 || slices.Max(counts)-slices.Min(counts) > 2 {
			t.Errorf("%s by zone: %v", what, in)
		}
	}
	shared := map[*offer.Candidate]int{}
	for _, m := range l.Machines {
		shared[&m.Candidates[0]]++
		if len(m.Candidates) != 3 {
			t.Fatalf("candidates %v, want all zones: the others are what a fleet falls back to", m.Candidates)
		}
	}
	if len(shared) > 6 {
		t.Errorf("%d lists of candidates: machines that are alike do not share theirs", len(shared))
	}
}

// TestZonesCountWhatIsThere: nodes and pods that exist count, for whom they belong to.
func TestZonesCountWhatIsThere(t *testing.T) {
	node := func(name, zone, provisioner string) cluster.Node {
		return cluster.Node{Name: name, Provisioner: provisioner, Ready: true, Initialized: true, Labels: map[string]string{api.LabelZone: zone, api.LabelHostname: name}}
	}
	pod := func(owner, on string) cluster.Pod {
		return cluster.Pod{
			PodKey: cluster.PodKey{Namespace: "default", Name: owner}, NodeName: on, State: cluster.PodBound,
			Owner: cluster.Owner{Kind: "ReplicaSet", Name: owner}, Template: &cluster.Template{Namespace: "default"},
		}
	}
	for name, c := range map[string]struct {
		nodes []cluster.Node
		pods  []cluster.Pod
		want  string
	}{
		"nothing":                       {nil, nil, "a"},
		"a node of the Provisioner":     {[]cluster.Node{node("n", "a", "default")}, nil, "b"},
		"a node of another":             {[]cluster.Node{node("n", "a", "other")}, nil, "a"},
		"pods weigh more than machines": {[]cluster.Node{node("m", "b", "default"), node("n", "a", "other")}, []cluster.Pod{pod("web", "n")}, "c"},
		"pods of others do not":         {[]cluster.Node{node("n", "a", "other")}, []cluster.Pod{pod("api", "n")}, "a"},
	} {
		p := burst(1, "web")
		p.Snapshot.Nodes, p.Snapshot.Pods = c.nodes, c.pods
		if got := Solve(p).Machines[0].Candidates[0].Zone; got != c.want {
			t.Errorf("%s: zone %s, want %s", name, got, c.want)
		}
	}
}

// TestAFollowerWithoutAMachineTakesNoPlans: a pod that has to be in the zone of others, and that no machine can hold, does
// not make all of them be placed again with each zone preferred.
func TestAFollowerWithoutAMachineTakesNoPlans(t *testing.T) {
	effort := func(asks int64) int64 {
		p := burst(60, "api", "web")
		for i := range p.Pods {
			template := p.Pods[i].Pod.Template
			template.Labels = map[string]string{"tier": "web"}
			template.Spread = []corev1.TopologySpreadConstraint{{TopologyKey: api.LabelZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels}}}
		}
		follower := &cluster.Template{Namespace: "default", Requests: amount.List{amount.CPU: asks, amount.Pods: 1}, Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: api.LabelZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "web"}}}},
		}}}
		p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "follower"}, Template: follower}})
		l := Solve(p)
		if placed := l.Places[len(p.Pods)-1].Placed(); placed != (asks <= 2000) {
			t.Errorf("a follower that asks for %d has a place: %t", asks, placed)
		}
		return l.Effort
	}
	if with, without := effort(1_000_000), effort(1000); with > 2*without {
		t.Errorf("planning takes %d steps with a pod that no machine can hold, and %d with one that has a place", with, without)
	}
}
