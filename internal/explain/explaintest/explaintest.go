// Package explaintest makes plans and clusters for the tests of what describes them.
package explaintest

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Key is that of a pod in the namespace default.
func Key(name string) cluster.PodKey {
	return cluster.PodKey{Namespace: "default", Name: name, UID: name}
}

// Snapshot holds the pods of Plan: a, b, c and d alike, e to be placed on a node
// where another runs, f and g without a place.
func Snapshot() *cluster.Snapshot {
	web := &cluster.Template{
		Labels:   map[string]string{"pod-template-hash": "5d4"},
		Requests: amount.List{amount.CPU: 700, amount.Memory: 1 << 30, amount.Pods: 1},
	}
	s := &cluster.Snapshot{Nodes: []cluster.Node{{
		Name:        "ip-10-0-0-1",
		Labels:      map[string]string{api.LabelInstanceType: "m5.large", api.LabelZone: "eu-west-1a", api.LabelCapacityType: "on-demand"},
		Allocatable: amount.List{amount.CPU: 2000, amount.Memory: 8 << 30, amount.Pods: 29},
	}}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "running"} {
		pod := cluster.Pod{PodKey: Key(name), Template: web, State: cluster.PodPending, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d4"}}
		if name == "running" {
			pod.State, pod.NodeName = cluster.PodBound, "ip-10-0-0-1"
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

// Plan buys two machines for a, b, c and d, binds e, and leaves f and g without a place.
func Plan() decide.Plan {
	m := decide.Machine{
		Provisioner: "default",
		Candidates: []offer.Candidate{
			{InstanceType: "m7g.large", Zone: "eu-west-1a", CapacityType: "spot", Price: 41_000},
			{InstanceType: "m6g.large", Zone: "eu-west-1a", CapacityType: "spot", Price: 43_000},
		},
		Used:        amount.List{amount.CPU: 1500, amount.Memory: 3 << 30, amount.Pods: 2},
		Allocatable: amount.List{amount.CPU: 2000, amount.Memory: 6 << 30, amount.Pods: 29},
		RunnerUp:    &offer.Candidate{InstanceType: "m6g.large", CapacityType: "spot", Price: 43_000},
	}
	first, second := m, m
	first.Name, first.Pods = "default-1", []cluster.PodKey{Key("a"), Key("b")}
	second.Name, second.Pods = "default-2", []cluster.PodKey{Key("c"), Key("d")}
	return decide.Plan{
		Machines:    []decide.Machine{first, second},
		Bindings:    []decide.Binding{{Pod: Key("e"), Node: "ip-10-0-0-1"}},
		Unplaced:    []decide.Unplaced{{Pod: Key("f"), Reason: "no type is large enough"}, {Pod: Key("g"), Reason: "no type is large enough"}},
		HourlyPrice: 82_000, LowerBound: 80_000,
	}
}

func ran(name, node string, daemon bool, cpu int64) cluster.Pod {
	return cluster.Pod{
		PodKey: cluster.PodKey{Namespace: "shop", Name: name}, NodeName: node, State: cluster.PodBound,
		Template: &cluster.Template{Requests: amount.List{amount.CPU: cpu, amount.Memory: cpu << 20, amount.Pods: 1}, DaemonSet: daemon},
	}
}

// Live is a cluster with nodes of two Provisioners, and one of somebody else.
func Live() *cluster.Snapshot {
	node := func(name, provisioner string) cluster.Node {
		return cluster.Node{
			Name: name, Provisioner: provisioner, Labels: map[string]string{api.LabelInstanceType: "m5.large", api.LabelZone: "a"},
			Allocatable: amount.List{amount.CPU: 2000, amount.Memory: 4000 << 20, amount.Pods: 29},
		}
	}
	s := &cluster.Snapshot{
		Nodes: []cluster.Node{node("n1", "default"), node("n2", "other"), node("theirs", "")},
		Pods:  []cluster.Pod{ran("web-1", "n1", false, 500), ran("web-2", "n1", false, 500), ran("logs-1", "n1", true, 100), ran("web-3", "n2", false, 500), ran("x", "theirs", false, 1)},
	}
	s.Sort()
	return s
}
