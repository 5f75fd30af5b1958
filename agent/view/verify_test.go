package view_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

var web = cluster.PodKey{Namespace: "default", Name: "web", UID: "1"}

func snapshot() *cluster.Snapshot {
	return &cluster.Snapshot{
		Nodes: []cluster.Node{{Name: "a", Labels: map[string]string{"zone": "1"}, Allocatable: amount.List{"cpu": 4000}}},
		Pods:  []cluster.Pod{{PodKey: web, State: cluster.PodPending, Template: &cluster.Template{Requests: amount.List{"cpu": 1000}}}},
	}
}

func provisioner() *api.Provisioner {
	p := &api.Provisioner{}
	p.Name, p.UID, p.Generation = "default", "u", 1
	return p
}

// A plan's action is carried out only if what it was made from is as it was then.
func TestVerifierDropsWhatHasChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change                 func(*cluster.Snapshot, *api.Provisioner)
		pod, node, provisioner bool
	}{
		"nothing": {func(*cluster.Snapshot, *api.Provisioner) {}, true, true, true},
		"the pod is bound": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Pods[0].State, s.Pods[0].NodeName = cluster.PodBound, "a"
		}, false, true, true},
		"the pod is replaced": {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Pods[0].UID = "2" }, false, true, true},
		"the pod asks for more": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Pods[0].Template = &cluster.Template{Requests: amount.List{"cpu": 2000}}
		}, false, true, true},
		"the node is cordoned": {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Unschedulable = true }, true, false, true},
		"the node is deleted":  {func(s *cluster.Snapshot, _ *api.Provisioner) { s.Nodes[0].Deleting = true }, true, false, true},
		"the node has other labels": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Nodes[0].Labels = map[string]string{"zone": "2"}
		}, true, false, true},
		"the Provisioner is changed": {func(_ *cluster.Snapshot, p *api.Provisioner) { p.Generation++ }, true, true, false},
		"the Provisioner is another": {func(_ *cluster.Snapshot, p *api.Provisioner) { p.UID = "v" }, true, true, false},
		"the Provisioner is renamed": {func(_ *cluster.Snapshot, p *api.Provisioner) { p.Name = "other" }, true, true, false},
		"an equal template is no change": {func(s *cluster.Snapshot, _ *api.Provisioner) {
			s.Pods[0].Template = &cluster.Template{Requests: amount.List{"cpu": 1000}}
		}, true, true, true},
	} {
		planned := provisioner()
		v := &view.View{Snapshot: snapshot(), ByName: map[string]*view.Provisioner{"default": {Raw: planned, Spec: planned}}}
		fresh, now := snapshot(), provisioner()
		c.change(fresh, now)
		check := v.Verify(fresh, []*api.Provisioner{now})
		if check.Pod(web) != c.pod || check.Node("a") != c.node || check.Provisioner("default") != c.provisioner {
			t.Errorf("%s: pod %t, node %t, Provisioner %t", name, check.Pod(web), check.Node("a"), check.Provisioner("default"))
		}
		machine := &decide.Machine{Provisioner: "default", Pods: []cluster.PodKey{web}}
		if check.Machine(machine) != (c.pod && c.provisioner) {
			t.Errorf("%s: the machine is bought: %t", name, check.Machine(machine))
		}
	}
}

// A node onto which a pod came since the plan was made is not the node that was judged.
func TestNewcomers(t *testing.T) {
	v := &view.View{Snapshot: snapshot()}
	fresh := snapshot()
	fresh.Pods[0].State, fresh.Pods[0].NodeName = cluster.PodBound, "a"
	if got := v.Verify(fresh, nil).Newcomers(); len(got) != 1 || !got["a"] {
		t.Errorf("newcomers = %v, want a", got)
	}
	if got := v.Verify(snapshot(), nil).Newcomers(); len(got) != 0 {
		t.Errorf("newcomers = %v, want none", got)
	}
}
