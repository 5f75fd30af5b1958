package ours

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestInput(t *testing.T) {
	in := Input(workload.Daemons(50), time.Second)
	s := in.Snapshot
	if len(s.Pods) != 50 || len(s.DaemonSets) != 4 || len(in.Provisioners) != 1 || in.Settings.PackingBudget != time.Second {
		t.Fatalf("%d pods, %d DaemonSets, %d Provisioners, %+v", len(s.Pods), len(s.DaemonSets), len(in.Provisioners), in.Settings)
	}
	for i := range s.Pods {
		if s.Pods[i].State != cluster.PodPending {
			t.Errorf("pod %s is %s", s.Pods[i].Name, s.Pods[i].State)
		}
	}
	if len(in.Provisioners[0].Spec.Spec.Taints) != 1 {
		t.Error("the pool has no taint")
	}
}

func TestFleet(t *testing.T) {
	in := Input(workload.Fleet(2000), 0)
	if got := Classes(&in); got != 1000 {
		t.Errorf("%d classes, want 1000", got)
	}
	bound := 0
	for i := range in.Snapshot.Pods {
		if in.Snapshot.Pods[i].State == cluster.PodBound {
			bound++
		}
	}
	if bound != len(in.Snapshot.Nodes) || bound == 0 {
		t.Errorf("%d running pods on %d nodes", bound, len(in.Snapshot.Nodes))
	}
}

func TestPlan(t *testing.T) {
	w := workload.Mixed(3)
	key := func(i int) cluster.PodKey { return cluster.PodKey{Namespace: "default", Name: w.Pods[i].Name} }
	candidate := offer.Candidate{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "on-demand", Price: 7}
	p := &decide.Plan{
		Bindings: []decide.Binding{{Pod: key(1), Node: "node"}},
		Machines: []decide.Machine{{Name: "m", Pods: []cluster.PodKey{key(2), key(0)}, Candidates: []offer.Candidate{candidate, {Price: 9}}}},
	}
	got, err := Plan(w, p)
	if err != nil {
		t.Fatal(err)
	}
	want := check.Plan{Bindings: map[int]string{1: "node"}, Machines: []check.Machine{{Candidate: candidate, Pods: []int{0, 2}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	p.Machines[0].Pods[0].Name = "nobody"
	if _, err := Plan(w, p); err == nil {
		t.Error("a pod that does not exist was placed")
	}
	p.Bindings = append(p.Bindings, decide.Binding{Pod: key(1), Node: "other"})
	if _, err := Plan(w, p); err == nil {
		t.Error("a pod was bound twice")
	}
}
