package view

import (
	"maps"
	"reflect"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Verifier reports whether what a plan was made from still holds. It is stricter
// than matching again: whatever matched when the plan was made, and has not
// changed since, matches now. What has changed is dropped and planned again.
type Verifier struct {
	// Snapshot is fresh, and so are its Pods, by UID.
	Snapshot *cluster.Snapshot
	Pods     map[string]*cluster.Pod
	// Claims counts the volume claims of its pods, by node.
	Claims map[string]int

	planned      *View
	pods         map[string]*cluster.Pod     // by UID, planned
	provisioners map[string]*api.Provisioner // fresh
}

// Verify compares what a plan was made from with the cluster as it is now.
func (v *View) Verify(fresh *cluster.Snapshot, provisioners []*api.Provisioner) *Verifier {
	fresh = v.Promised(fresh)
	out := &Verifier{
		Snapshot:     fresh,
		Pods:         ByUID(fresh),
		Claims:       map[string]int{},
		planned:      v,
		pods:         ByUID(v.Snapshot),
		provisioners: map[string]*api.Provisioner{},
	}
	for p := range fresh.EachPod() {
		out.Claims[p.NodeName] += len(p.Template.Claims)
	}
	for _, p := range provisioners {
		out.provisioners[p.Name] = p
	}
	return out
}

// Planned returns a pod as it was when the plan was made, by its UID; nil where it was not
// there.
func (v *Verifier) Planned(uid string) *cluster.Pod { return v.pods[uid] }

// ByUID returns the pods of a snapshot by their UIDs.
func ByUID(s *cluster.Snapshot) map[string]*cluster.Pod {
	out := make(map[string]*cluster.Pod, len(s.Pods))
	for p := range s.EachPod() {
		out[p.UID] = p
	}
	return out
}

// Machine reports whether all of the machine's pods and its Provisioner are as planned.
// An expected replica may exist by now.
func (v *Verifier) Machine(m *decide.Machine) bool {
	return v.Provisioner(m.Provisioner) &&
		!slices.ContainsFunc(m.AllPods(), func(p cluster.PodKey) bool { return !batch.IsExpected(p) && !v.Pod(p) })
}

// Provisioner reports whether it still exists as it was planned with.
func (v *Verifier) Provisioner(name string) bool {
	planned, fresh := v.planned.ByName[name], v.provisioners[name]
	return planned != nil && fresh != nil && fresh.DeletionTimestamp == nil &&
		fresh.UID == planned.Raw.UID && fresh.Generation == planned.Raw.Generation
}

// Pod reports whether a pod still waits, or runs, where it did when the plan was made.
func (v *Verifier) Pod(key cluster.PodKey) bool {
	was, is := v.pods[key.UID], v.Pods[key.UID]
	return was != nil && is != nil && was.State == is.State && was.NodeName == is.NodeName &&
		(was.Template == is.Template || reflect.DeepEqual(was.Template, is.Template))
}

// Node reports whether a node still takes what it took when the plan was made.
func (v *Verifier) Node(name string) bool {
	was, is := v.planned.Snapshot.Node(name), v.Snapshot.Node(name)
	return was != nil && is != nil && !is.Deleting && was.Unschedulable == is.Unschedulable &&
		maps.Equal(was.Labels, is.Labels) && maps.Equal(was.Allocatable, is.Allocatable) &&
		slices.Equal(was.Taints, is.Taints)
}

// Newcomers are the nodes that pods are bound to which were not when the plan was
// made.
func (v *Verifier) Newcomers() map[string]bool {
	out := map[string]bool{}
	for uid, p := range v.Pods {
		if was := v.pods[uid]; was == nil || was.NodeName != p.NodeName {
			out[p.NodeName] = true
		}
	}
	return out
}
