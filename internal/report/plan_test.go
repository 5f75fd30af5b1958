package report

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func podKey(name string) cluster.PodKey {
	return cluster.PodKey{Namespace: "default", Name: name, UID: name}
}

// snapshot holds the pods of plan: a, b, c and d alike, e to be placed on a node
// where another runs, f and g without a place.
func snapshot() *cluster.Snapshot {
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
		pod := cluster.Pod{PodKey: podKey(name), Template: web, State: cluster.PodPending, Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d4"}}
		if name == "running" {
			pod.State, pod.NodeName = cluster.PodBound, "ip-10-0-0-1"
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

func plan() decide.Plan {
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
	first.Name, first.Pods = "default-1", []cluster.PodKey{podKey("a"), podKey("b")}
	second.Name, second.Pods = "default-2", []cluster.PodKey{podKey("c"), podKey("d")}
	return decide.Plan{
		Machines:    []decide.Machine{first, second},
		Bindings:    []decide.Binding{{Pod: podKey("e"), Node: "ip-10-0-0-1"}},
		Unplaced:    []decide.Unplaced{{Pod: podKey("f"), Reason: "no type is large enough"}, {Pod: podKey("g"), Reason: "no type is large enough"}},
		HourlyPrice: 82_000, LowerBound: 80_000,
	}
}
