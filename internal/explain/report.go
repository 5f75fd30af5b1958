// Package explain turns a plan into words and numbers for people and programs: text,
// markdown and JSON, with the same words everywhere. Package report draws them.
package explain

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Report is a plan as it is shown. Prices are in dollars per hour.
type Report struct {
	// Seconds is the time that the decision alone took.
	Seconds float64 `json:"seconds"`
	// Pods is the number of pending pods; Placed of them have a place.
	Pods        int     `json:"pods"`
	Placed      int     `json:"placed"`
	HourlyPrice float64 `json:"hourlyPrice"`
	// Proof of how far this is from the best; nothing where nothing is proven.
	*Proof
	Machines []Machine  `json:"machines"`
	Bindings []Binding  `json:"bindings"`
	Unplaced []Unplaced `json:"unplaced"`
	// Removals are nodes that should go, Kept those that have a reason to go and
	// stay for now, Emptiness those that become empty or are used again.
	Removals []Removal `json:"removals,omitempty"`
	Kept     []Kept    `json:"kept,omitempty"`
	// Chosen are nodes that an earlier plan has chosen to go.
	Chosen    []Chosen    `json:"chosen,omitempty"`
	Emptiness []Emptiness `json:"emptiness,omitempty"`
	// Consolidation is about nodes in use; nothing where no Provisioner consolidates them.
	Consolidation *Consolidation `json:"consolidation,omitempty"`
	Warnings      []string       `json:"warnings,omitempty"`

	// Fleet is the machines and the nodes that get pods, for drawing.
	Fleet []Content `json:"-"`
}

// Machine is a node to be bought. Amounts are Kubernetes quantities, bytes rounded to
// whole mebibytes.
type Machine struct {
	Name         string            `json:"name"`
	Provisioner  string            `json:"provisioner"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	Reservation  string            `json:"reservation,omitempty"` // id of the capacity reservation
	HourlyPrice  float64           `json:"hourlyPrice"`
	Allocatable  map[string]string `json:"allocatable"`
	Used         map[string]string `json:"used"`
	Pods         []string          `json:"pods"`
	// Labels of the node that do not follow from what is bought.
	Labels map[string]string `json:"labels,omitempty"`
	// Workloads counts Pods by what made them (namespace/name).
	Workloads map[string]int `json:"workloads,omitempty"`
	// Moving are pods of nodes that go, for which it has room.
	Moving []Move `json:"moving,omitempty"`
	// Alternatives is the number of further offerings that may serve it.
	Alternatives int `json:"alternatives"`
	// RunnerUp is the next best type, where there is one.
	RunnerUp *RunnerUp `json:"runnerUp,omitempty"`
	// Why says why it is of this type, in a phrase.
	Why string `json:"why"`
	// GivenUp lists the preferences that are not met, by pod.
	GivenUp map[string][]string `json:"givenUp,omitempty"`

	share map[string]float64 // of allocatable that is used
}

// RunnerUp is the offering that came second.
type RunnerUp struct {
	InstanceType string  `json:"instanceType"`
	CapacityType string  `json:"capacityType"`
	HourlyPrice  float64 `json:"hourlyPrice"`
}

// Binding places a pod on a node that exists.
type Binding struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	// From is the node that goes and that the pod still runs on; empty for a
	// pending pod.
	From    string   `json:"from,omitempty"`
	GivenUp []string `json:"givenUp,omitempty"`

	workload string
}

// Unplaced is a pod that has no place.
type Unplaced struct {
	Pod string `json:"pod"`
	// From is the node that goes and that the pod still runs on.
	From   string `json:"from,omitempty"`
	Reason string `json:"reason"`
}

// Of builds the report of a plan that was made from a snapshot, and took the
// given time to decide; 0 where that is not reported.
func Of(plan decide.Plan, snapshot *cluster.Snapshot, took time.Duration) Report {
	r := Report{
		Seconds:     took.Seconds(),
		HourlyPrice: plan.HourlyPrice.Dollars(),
		Proof:       proof(plan),
		Machines:    make([]Machine, 0, len(plan.Machines)),
		Bindings:    make([]Binding, 0, len(plan.Bindings)),
		Unplaced:    make([]Unplaced, 0, len(plan.Unplaced)),
		Warnings:    leftOut(&plan),
		Fleet:       fleet(&plan, snapshot),
	}
	r.place(&plan, pods{snapshot})
	r.retire(&plan)
	r.Consolidation = OfConsolidation(plan.Consolidation)
	return r
}

// place says what becomes of each pod. Pods that move are not waiting for a node: they are not
// counted.
func (r *Report) place(plan *decide.Plan, found pods) {
	for i := range plan.Machines {
		m := machine(&plan.Machines[i])
		m.Workloads = found.count(plan.Machines[i].Pods)
		for _, move := range plan.Machines[i].Moving {
			m.Moving = append(m.Moving, Move{Pod: move.Pod.String(), From: move.From, workload: found.workload(move.Pod)})
		}
		r.Placed += len(m.Pods)
		r.Machines = append(r.Machines, m)
	}
	for _, b := range plan.Bindings {
		if b.From == "" {
			r.Placed++
		}
		r.Bindings = append(r.Bindings, Binding{Pod: b.Pod.String(), Node: b.Node, From: b.From, GivenUp: b.GivenUp, workload: found.workload(b.Pod)})
	}
	r.Pods = r.Placed
	for _, u := range plan.Unplaced {
		if u.From == "" {
			r.Pods++
		}
		r.Unplaced = append(r.Unplaced, Unplaced{Pod: u.Pod.String(), From: u.From, Reason: u.Reason})
	}
}

// Proof says how far a plan is from the best at most.
type Proof struct {
	// LowerBound is proven: no plan for the same pods costs less.
	LowerBound float64 `json:"lowerBound"`
	// GapPercent is how far the price is above LowerBound at most, rounded up to two digits.
	GapPercent float64 `json:"gapPercent"`
}

// proof is that of a plan, or nothing where it buys and no bound is known.
func proof(plan decide.Plan) *Proof {
	if plan.LowerBound <= 0 && plan.HourlyPrice > 0 {
		return nil
	}
	out := &Proof{LowerBound: plan.LowerBound.Dollars()}
	if plan.HourlyPrice > plan.LowerBound {
		gap := plan.HourlyPrice - plan.LowerBound
		out.GapPercent = float64((1e4*gap+plan.LowerBound-1)/plan.LowerBound) / 100
	}
	return out
}

func machine(m *decide.Machine) Machine {
	chosen := m.Chosen()
	out := Machine{
		Name: m.Name, Provisioner: m.Provisioner,
		InstanceType: chosen.InstanceType, Zone: chosen.Zone, CapacityType: chosen.CapacityType, Reservation: chosen.Reservation,
		HourlyPrice: chosen.Price.Dollars(),
		Allocatable: quantities(m.Allocatable), Used: quantities(m.Used),
		Pods: names(m.Pods), Alternatives: len(m.Candidates) - 1, GivenUp: m.GivenUp,
		Labels: ownLabels(m.Labels),
		share:  map[string]float64{},
	}
	for name, room := range m.Allocatable {
		if room > 0 {
			out.share[name] = float64(m.Used[name]) / float64(room)
		}
	}
	out.Why = why(m)
	if m.RunnerUp != nil {
		out.RunnerUp = &RunnerUp{InstanceType: m.RunnerUp.InstanceType, CapacityType: m.RunnerUp.CapacityType, HourlyPrice: m.RunnerUp.Price.Dollars()}
	}
	return out
}

// ownLabels leaves out the labels that every machine has.
func ownLabels(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if key != api.LabelProvisioner && !api.Implied(key) && !api.WellKnown(key) {
			out[key] = value
		}
	}
	return out
}

func quantities(l amount.List) map[string]string {
	out := make(map[string]string, len(l))
	for name, v := range l {
		if v != 0 {
			q := amount.Rounded(name, v)
			out[name] = q.String()
		}
	}
	return out
}

func names(pods []cluster.PodKey) []string {
	out := make([]string, 0, len(pods))
	for _, p := range pods {
		out = append(out, p.String())
	}
	return out
}
