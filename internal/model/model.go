// Package model says what a packing is asked for and what there is for it: equivalence classes
// of pods, offerings of Provisioners, nodes that exist, and the DaemonSets that run on both. It
// reads a snapshot once and is not changed afterwards. It knows nothing of constraints between
// pods.
package model

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Input is what a model is made of.
type Input struct {
	Snapshot *cluster.Snapshot
	// Provisioners are sorted by name.
	Provisioners []Provisioner
	// Pods need a place, in the order of the snapshot.
	Pods []Pod
	// Leaving nodes, by name, are no room for anything.
	Leaving map[string]bool
	// Shut nodes, by name, take no pods, and those that they have count.
	Shut map[string]bool
	// Key adds what tells a template apart from those of other classes. The constraints
	// decide what that is.
	Key func(b []byte, t *cluster.Template, needs match.Needs) []byte
	// Binding are the limits, by Provisioner, that the solution must keep.
	Binding []amount.List
	// NodeCost is the cost of a machine beyond its price.
	NodeCost offer.Price
}

// Provisioner is a Provisioner with what it may buy.
type Provisioner struct {
	Spec *api.Provisioner
	// Types are sorted by name.
	Types []offer.InstanceType
	// Index is that of the types; where it is nil it is made.
	Index *offer.Index
	// Closed is why nothing may be bought with it now; empty when it may.
	Closed string
}

// Pod is a pod that needs a place.
type Pod struct {
	Pod *cluster.Pod
	// From is the leaving node that the pod still runs on; empty for pending pods.
	From string
	// Nodes are tried before anything else: room there was kept for the pod.
	Nodes []string
	// Refused is why it gets no place, whatever there is; empty for other pods.
	Refused string
	// Growing: its owner grows step by step, so that more such pods may come soon.
	Growing bool
}

// Model is what is asked and what is there.
type Model struct {
	Supply
	Volumes  *match.Volumes
	Classes  []*Class
	Refusals []Rejection
}

// New reads the input. The result does not change any more.
func New(in *Input, e *Effort) *Model {
	e.None()
	m := &Model{Volumes: match.NewVolumes(in.Snapshot), Supply: Supply{Effort: e, answers: newAnswers()}}
	for i := range in.Provisioners {
		m.Pools = append(m.Pools, newPool(&in.Provisioners[i], i, in.Binding[i]))
	}
	f := classifier{in: in, volumes: m.Volumes, effort: e, byTemplate: map[classKey]*templateClass{}, known: map[string]*Class{}}
	f.classify()
	m.Classes, m.Refusals = f.classes, f.refusals
	m.measure(in.Snapshot.DaemonSets)
	m.addDaemons(in.Snapshot.DaemonSets)
	m.list(m.Classes, in.NodeCost)
	m.addNodes(in)
	e.Others()
	m.chargeDaemons()
	m.vary(m.Classes)
	return m
}

// measure fixes the resources that count. Devices count that only DaemonSets ask for, so that a machine that has too
// few of them is too small whatever other pods ask for.
func (m *Model) measure(daemons []cluster.DaemonSet) {
	var lists []amount.List
	for i := range daemons {
		devices := amount.List{}
		for name, v := range daemons[i].Template.Requests {
			if offer.Device(name) {
				devices[name] = v
			}
		}
		lists = append(lists, devices)
	}
	for _, c := range m.Classes {
		lists = append(lists, c.Template.Requests)
	}
	for _, p := range m.Pools {
		limited := amount.List{}
		for name := range p.Limits {
			limited[name] = 1
		}
		lists = append(lists, limited)
	}
	m.Space = NewSpace(lists)
	for _, c := range m.Classes {
		c.Need = m.Space.Vector(c.Template.Requests)
		for name, v := range c.Template.Requests {
			c.Devices = c.Devices || v > 0 && offer.Device(name)
		}
	}
}
