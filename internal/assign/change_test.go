package assign_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// withNodes is a problem of some kinds of pods with nodes of 4 cores each.
func withNodes(nodes int, groups ...assigntest.PodsOf) *assign.Problem {
	p := assigntest.LimitedTo(0, groups...)
	for i := range nodes {
		p.Snapshot.Nodes = append(p.Snapshot.Nodes, cluster.Node{
			Name: fmt.Sprint("node-", i), Provisioner: "default", Initialized: true, Ready: true, Labels: map[string]string{api.LabelZone: "one"},
			Allocatable: amount.List{amount.CPU: 4000, amount.Memory: 1 << 30, amount.Pods: 20},
		})
	}
	return p
}

// TestNodeAsksBeyondAll: whoever makes pods may name their node, so that any number of them asks it
// for any amount. That leaves no room for others.
func TestNodeAsksBeyondAll(t *testing.T) {
	for _, n := range []int{1000, 2000, 3000} {
		p := withNodes(1)
		of := &cluster.Template{Requests: amount.List{amount.CPU: amount.Most}}
		for range n {
			p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{NodeName: "node-0", State: cluster.PodBound, Template: of})
		}
		a := assign.Prepare(p, make(assign.Limits, 1), model.NewEffort(nil, 1)).New()
		if free := a.Space.List(a.Existing()[0].Free)[amount.CPU]; free >= 0 {
			t.Errorf("%d pods leave %d", n, free)
		}
	}
}

// keepsAway is a template whose pods keep away from pods with as many labels, each by a term of its own.
func keepsAway(name string, terms int) *cluster.Template {
	anti := &corev1.PodAntiAffinity{}
	for i := range terms {
		anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
			TopologyKey:   api.LabelZone,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: fmt.Sprint(name, "-", i), Operator: metav1.LabelSelectorOpExists}}},
		})
	}
	return &cluster.Template{Namespace: "default", Affinity: &corev1.Affinity{PodAntiAffinity: anti}}
}

// TestPodsThatAreNowhere keep nobody away: what they ask of others is not looked at.
func TestPodsThatAreNowhere(t *testing.T) {
	p := withNodes(1)
	p.Snapshot.Pods = []cluster.Pod{
		{State: cluster.PodWaiting, Template: keepsAway("gated", 1000)},
		{State: cluster.PodNew, Template: keepsAway("new", 1000)},
		{State: cluster.PodBound, NodeName: "none", Template: keepsAway("lost", 1000)},
		{State: cluster.PodBound, NodeName: "node-0", Template: keepsAway("bound", 3)},
		{State: cluster.PodWaiting, NominatedNode: "node-0", Template: keepsAway("nominated", 2)},
	}
	if a := assign.Prepare(p, make(assign.Limits, 1), model.NewEffort(nil, 1)).New(); len(a.State.List) != 5 {
		t.Errorf("there are %d groups of pods, want 5", len(a.State.List))
	}
}

// TestPodsThatAskTooMuch: pods that run, and DaemonSets, may have a megabyte of terms each. They do
// not take the agent's memory, and what others ask counts.
func TestPodsThatAskTooMuch(t *testing.T) {
	p := withNodes(1)
	for i := range 30 {
		p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{State: cluster.PodBound, NodeName: "node-0", Template: keepsAway(fmt.Sprintf("pod%02d", i), 2000)})
		p.Snapshot.DaemonSets = append(p.Snapshot.DaemonSets, cluster.DaemonSet{Name: fmt.Sprint(i), Template: keepsAway(fmt.Sprintf("set%02d", i), 2000)})
	}
	p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{State: cluster.PodBound, NodeName: "node-0", Template: keepsAway("few", 3)})
	p.Snapshot.DaemonSets = append(p.Snapshot.DaemonSets, cluster.DaemonSet{Name: "few", Template: keepsAway("few-set", 4)})
	if a := assign.Prepare(p, make(assign.Limits, 1), model.NewEffort(nil, 1)).New(); len(a.State.List) != 7 {
		t.Errorf("there are %d groups of pods, want 7", len(a.State.List))
	}
}

// state is what an assignment says, in values that can be compared.
type state struct {
	Left    []int64
	Free    [][]int64
	Placed  int
	OnNodes int
}

func stateOf(a *assign.Assignment) (out state) {
	for _, c := range a.Classes() {
		out.Left = append(out.Left, c.Left)
	}
	for _, n := range a.Existing() {
		out.Free = append(out.Free, slices.Clone(n.Free))
	}
	for _, p := range a.Places() {
		if p.Node != "" {
			out.OnNodes++
		}
	}
	out.Placed = out.OnNodes
	for _, m := range a.Machines() {
		out.Placed += len(m.Pods)
	}
	return out
}

// checkAssignment finds pods that are in no place or in two, and machines that hold more than
// they have room for.
func checkAssignment(t *rapid.T, a *assign.Assignment) {
	seen := map[int]int{}
	for _, c := range a.Classes() {
		for _, pod := range c.Unplaced() {
			seen[pod]++
		}
	}
	for _, p := range a.OnNodes() {
		for _, pod := range p.Pods {
			seen[pod]++
		}
	}
	for _, m := range a.Machines() {
		used, n := make([]int64, len(a.Space.Names)), int64(0)
		for _, p := range m.Placed {
			model.AddTimes(used, p.Class.Need, p.N)
			n += p.N
		}
		for _, pod := range m.Pods {
			seen[pod]++
		}
		if !slices.Equal(used, m.Used) || !model.Fits(m.Used, a.Offerings[m.Offering].Room) || n != int64(len(m.Pods)) || n == 0 {
			t.Fatalf("a machine with %d of %d pods uses %v, which it says is %v", len(m.Pods), n, used, m.Used)
		}
	}
	for pod := range a.Problem.Pods {
		if seen[pod] != 1 {
			t.Fatalf("pod %d is in %d places", pod, seen[pod])
		}
	}
}

// change changes an assignment in one way that is possible; some are not.
func change(t *rapid.T, a *assign.Assignment) {
	c := rapid.SampledFrom(a.Classes()).Draw(t, "class")
	o, _ := a.OptionsAt(c, assign.Level{})
	g, ok := a.GroupFor(c, assign.Level{}, o)
	if !ok || c.Left == 0 {
		return
	}
	g.N = rapid.Int64Range(1, c.Left).Draw(t, "pods")
	switch rapid.SampledFrom([]string{"put", "buy", "extend"}).Draw(t, "change") {
	case "put":
		i := rapid.IntRange(0, len(a.Existing())-1).Draw(t, "node")
		if k := a.RoomOn(c, o, i, g.N); k > 0 {
			a.Put(c, i, assign.Level{}, k)
		}
	case "buy":
		m := a.NewMachine(rapid.SampledFrom(slices.Collect(g.Mask.All)).Draw(t, "offering"))
		k, residual := a.Admit(m, g, g.N)
		m.Add(g, k, residual)
		a.Buy(m)
	case "extend":
		for i, m := range a.Machines() {
			if k, residual := a.Admit(m, g, g.N); k > 0 {
				a.Extend(i, g, k, residual)
				return
			}
		}
	}
}

// TestEveryPodIsInOnePlace: whatever is placed, bought and withdrawn in whatever order, each pod
// has one place or none, and what nodes and machines have left follows from that. When all is
// withdrawn, everything is as it was.
func TestEveryPodIsInOnePlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []assigntest.PodsOf
		for range rapid.IntRange(1, 4).Draw(t, "classes") {
			groups = append(groups, assigntest.PodsOf{N: rapid.IntRange(1, 6).Draw(t, "pods"), CPU: 100 * rapid.Int64Range(2, 20).Draw(t, "cpu")})
		}
		p := withNodes(2, groups...)
		a := assign.Prepare(p, make(assign.Limits, 1), model.NewEffort(p.Pods, len(p.Snapshot.Nodes))).New()
		before := stateOf(a)
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			change(t, a)
			checkAssignment(t, a)
		}
		for _, least := range []int64{rapid.Int64Range(0, 5).Draw(t, "kept"), 0} {
			placed := stateOf(a).Placed
			list, n := withdrawals(a, least)
			a.Withdraw(list)
			checkAssignment(t, a)
			if got := stateOf(a).Placed; got != placed-n {
				t.Fatalf("%d pods are placed, want %d without %d", got, placed, n)
			}
		}
		if after := stateOf(a); !reflect.DeepEqual(before, after) {
			t.Fatalf("%+v when all is withdrawn, %+v before", after, before)
		}
	})
}

// withdrawals take all but so many pods of each placement, and say how many those are.
func withdrawals(a *assign.Assignment, kept int64) (list []assign.Withdrawal, n int) {
	for i, p := range a.OnNodes() {
		if k := p.N - kept; k > 0 {
			list, n = append(list, assign.Withdrawal{Index: i, N: k}), n+int(k)
		}
	}
	for i, m := range a.Machines() {
		for j, p := range m.Placed {
			if k := p.N - kept; k > 0 {
				list, n = append(list, assign.Withdrawal{Machine: true, Index: i, Placed: j, N: k}), n+int(k)
			}
		}
	}
	return list, n
}
