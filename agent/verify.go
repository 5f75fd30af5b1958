package agent

import (
	"maps"
	"reflect"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// verifier tells whether what a plan was made from still holds. It is stricter
// than matching again: whatever matched when the plan was made, and has not
// changed since, matches now. What has changed is dropped and planned again.
type verifier struct {
	planned map[string]*cluster.Pod  // by UID
	pods    map[string]*cluster.Pod  // by UID, fresh
	nodes   map[string]*cluster.Node // planned
	fresh   map[string]*cluster.Node
	specs   map[string]*api.Provisioner // fresh
	view    *view
	now     *cluster.Snapshot
}

// verify compares the view of a plan with the caches as they are now.
func (a *Agent) verify(v *view) *verifier {
	now := v.promised(a.snapshot())
	out := &verifier{
		planned: byUID(v.snapshot),
		pods:    byUID(now),
		nodes:   v.nodes,
		fresh:   map[string]*cluster.Node{},
		specs:   map[string]*api.Provisioner{},
		view:    v,
		now:     now,
	}
	for i := range now.Nodes {
		out.fresh[now.Nodes[i].Name] = &now.Nodes[i]
	}
	for _, p := range a.cluster.Provisioners() {
		out.specs[p.Name] = p
	}
	return out
}

func byUID(s *cluster.Snapshot) map[string]*cluster.Pod {
	out := make(map[string]*cluster.Pod, len(s.Pods))
	for i := range s.Pods {
		out[s.Pods[i].UID] = &s.Pods[i]
	}
	return out
}

// machine reports whether all of the machine's pods and its Provisioner are as planned.
// An expected replica may exist by now.
func (c *verifier) machine(m *decide.Machine) bool {
	return c.provisioner(m.Provisioner) &&
		!slices.ContainsFunc(m.Pods, func(p cluster.PodKey) bool { return !batch.IsExpected(p) && !c.pod(p) }) &&
		!slices.ContainsFunc(m.Moving, func(p decide.Move) bool { return !c.pod(p.Pod) })
}

// provisioner reports whether it still exists as it was planned with.
func (c *verifier) provisioner(name string) bool {
	planned, fresh := c.view.byName[name], c.specs[name]
	return planned != nil && fresh != nil && fresh.DeletionTimestamp == nil &&
		fresh.UID == planned.raw.UID && fresh.Generation == planned.raw.Generation
}

// pod reports whether a pod still waits, or runs, where it did when the plan was made.
func (c *verifier) pod(key cluster.PodKey) bool {
	was, is := c.planned[key.UID], c.pods[key.UID]
	return was != nil && is != nil && was.State == is.State && was.NodeName == is.NodeName &&
		(was.Template == is.Template || reflect.DeepEqual(was.Template, is.Template))
}

// node reports whether a node still takes what it took when the plan was made.
func (c *verifier) node(name string) bool {
	was, is := c.nodes[name], c.fresh[name]
	return was != nil && is != nil && !is.Deleting && was.Unschedulable == is.Unschedulable &&
		maps.Equal(was.Labels, is.Labels) && maps.Equal(was.Allocatable, is.Allocatable) &&
		slices.Equal(was.Taints, is.Taints)
}
