package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestPromised: until a node is initialized its type's extended resources count where the
// kubelet reports none, and only these.
func TestPromised(t *testing.T) {
	const gpu, eni = "nvidia.com/gpu", "vpc.amazonaws.com/pod-eni"
	typ := with(with(size("gpu", 4, 4, 5), gpu, 4), eni, 9)
	own := Provisioner{Spec: &api.Provisioner{}, Types: []offer.InstanceType{typ}}
	own.Spec.Name = "own"
	reported := func(gpus, enis int64) amount.List {
		return amount.List{amount.CPU: 1, gpu: gpus, eni: enis}
	}
	for name, c := range map[string]struct {
		change           func(*cluster.Node)
		gpus, room, enis int64
		awaited          []string
	}{
		"none yet":              {func(*cluster.Node) {}, 4, 4, 9, []string{gpu, eni}},
		"some":                  {func(n *cluster.Node) { n.Capacity, n.Allocatable = reported(1, 9), reported(1, 9) }, 1, 1, 9, nil},
		"one of two":            {func(n *cluster.Node) { n.Capacity, n.Allocatable = reported(4, 0), reported(4, 0) }, 4, 4, 9, []string{eni}},
		"not healthy":           {func(n *cluster.Node) { n.Capacity, n.Allocatable = reported(4, 9), reported(0, 9) }, 4, 4, 9, []string{gpu}},
		"not reported at all":   {func(n *cluster.Node) { n.Capacity, n.Allocatable = nil, nil }, 4, 4, 9, []string{gpu, eni}},
		"after the timeout":     {func(n *cluster.Node) { n.Created = noon.Add(-time.Hour) }, 4, 0, 9, []string{gpu, eni}},
		"initialized":           {func(n *cluster.Node) { n.Initialized = true }, 4, 0, 9, nil},
		"of another type":       {func(n *cluster.Node) { n.Labels = map[string]string{api.LabelInstanceType: "std"} }, 0, 0, 0, nil},
		"not ours":              {func(n *cluster.Node) { n.Provisioner = "" }, 0, 0, 0, nil},
		"of a Provisioner gone": {func(n *cluster.Node) { n.Provisioner = "gone" }, 4, 4, 9, []string{gpu, eni}},
	} {
		t.Run(name, func(t *testing.T) {
			n := cluster.Node{
				Name: "n", Provisioner: "own", Created: noon, Labels: map[string]string{api.LabelInstanceType: "gpu"},
				Capacity: reported(0, 0), Allocatable: reported(0, 0),
			}
			c.change(&n)
			s := &cluster.Snapshot{Nodes: []cluster.Node{n}}
			once := Promised(s, []Provisioner{own}, noon, 15*time.Minute)
			twice := Promised(once, []Provisioner{own}, noon, 15*time.Minute)
			for _, got := range []cluster.Node{once.Nodes[0], twice.Nodes[0]} {
				if got.Capacity[gpu] != c.gpus || got.Allocatable[gpu] != c.room || got.Capacity[eni] != c.enis || !slices.Equal(got.Awaited, c.awaited) {
					t.Errorf("got %v of %v, awaiting %v", got.Allocatable, got.Capacity, got.Awaited)
				}
			}
			if s.Nodes[0].Awaited != nil || n.Capacity != nil && s.Nodes[0].Capacity[gpu] != n.Capacity[gpu] {
				t.Error("the snapshot was changed")
			}
		})
	}
}

// TestPromisedWhatPodsUse: nothing is awaited that a pod of the node uses, whoever provides it. If the kubelet
// does not report it, what the type has counts on.
func TestPromisedWhatPodsUse(t *testing.T) {
	const gpu, eni = "nvidia.com/gpu", "vpc.amazonaws.com/pod-eni"
	own := Provisioner{Spec: &api.Provisioner{}, Types: []offer.InstanceType{with(with(size("gpu", 4, 4, 5), gpu, 4), eni, 9)}}
	own.Spec.Name = "own"
	for name, c := range map[string]struct {
		change     func(*cluster.Node, *cluster.Pod)
		gpus, room int64
		enis       int64
		awaited    []string
	}{
		"a pod runs":            {func(*cluster.Node, *cluster.Pod) {}, 4, 4, 9, []string{eni}},
		"a pod starts":          {func(_ *cluster.Node, p *cluster.Pod) { p.Running = false }, 4, 4, 9, []string{eni}},
		"a pod elsewhere":       {func(_ *cluster.Node, p *cluster.Pod) { p.NodeName = "other" }, 4, 4, 9, []string{gpu, eni}},
		"a pod without devices": {func(_ *cluster.Node, p *cluster.Pod) { p.Template = &cluster.Template{} }, 4, 4, 9, []string{gpu, eni}},
		"the kubelet reports": {func(n *cluster.Node, _ *cluster.Pod) {
			n.Capacity, n.Allocatable = amount.List{gpu: 3, eni: 9}, amount.List{gpu: 2, eni: 9}
		}, 3, 2, 9, nil},
		"initialized":             {func(n *cluster.Node, _ *cluster.Pod) { n.Initialized = true }, 4, 4, 9, nil},
		"initialized for long":    {func(n *cluster.Node, _ *cluster.Pod) { n.Initialized, n.Created = true, noon.Add(-time.Hour) }, 4, 0, 9, nil},
		"initialized, no pod any": {func(n *cluster.Node, p *cluster.Pod) { n.Initialized, p.NodeName = true, "other" }, 4, 0, 9, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := cluster.Node{Name: "n", Provisioner: "own", Created: noon, Labels: map[string]string{api.LabelInstanceType: "gpu"}}
			p := cluster.Pod{NodeName: "n", State: cluster.PodBound, Running: true, Template: &cluster.Template{Requests: amount.List{gpu: 1}}}
			c.change(&n, &p)
			s := &cluster.Snapshot{Nodes: []cluster.Node{n}, Pods: []cluster.Pod{p}}
			once := Promised(s, []Provisioner{own}, noon, 15*time.Minute)
			twice := Promised(once, []Provisioner{own}, noon, 15*time.Minute)
			for _, got := range []cluster.Node{once.Nodes[0], twice.Nodes[0]} {
				if got.Capacity[gpu] != c.gpus || got.Allocatable[gpu] != c.room || got.Capacity[eni] != c.enis || !slices.Equal(got.Awaited, c.awaited) {
					t.Errorf("got %v of %v, awaiting %v", got.Allocatable, got.Capacity, got.Awaited)
				}
			}
		})
	}
}
