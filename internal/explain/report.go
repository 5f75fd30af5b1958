// Package explain turns a plan into words, numbers and pictures for people and
// programs: text, markdown, JSON, SVG and HTML, with the same words everywhere.
package explain

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
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
	// LowerBound is proven: no plan for the same pods costs less.
	LowerBound float64 `json:"lowerBound"`
	// GapPercent is how far HourlyPrice is above LowerBound, at most.
	GapPercent float64    `json:"gapPercent"`
	Machines   []Machine  `json:"machines"`
	Bindings   []Binding  `json:"bindings"`
	Unplaced   []Unplaced `json:"unplaced"`
	Warnings   []string   `json:"warnings,omitempty"`

	fleet []box
}

// Machine is a node to be bought. Amounts are Kubernetes quantities.
type Machine struct {
	Name         string            `json:"name"`
	Provisioner  string            `json:"provisioner"`
	InstanceType string            `json:"instanceType"`
	Zone         string            `json:"zone"`
	CapacityType string            `json:"capacityType"`
	HourlyPrice  float64           `json:"hourlyPrice"`
	Allocatable  map[string]string `json:"allocatable"`
	Used         map[string]string `json:"used"`
	Pods         []string          `json:"pods"`
	// Workloads counts Pods by what made them (namespace/name).
	Workloads map[string]int `json:"workloads,omitempty"`
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
	HourlyPrice  float64 `json:"hourlyPrice"`
}

// Binding places a pod on a node that exists.
type Binding struct {
	Pod     string   `json:"pod"`
	Node    string   `json:"node"`
	GivenUp []string `json:"givenUp,omitempty"`
}

// Unplaced is a pod that has no place.
type Unplaced struct {
	Pod    string `json:"pod"`
	Reason string `json:"reason"`
}

// Of builds the report of a plan that was made from a snapshot, and took the
// given time to decide.
func Of(plan decide.Plan, snapshot *cluster.Snapshot, took time.Duration) Report {
	r := Report{
		Seconds:     took.Seconds(),
		Placed:      len(plan.Bindings),
		HourlyPrice: plan.HourlyPrice.Dollars(),
		LowerBound:  plan.LowerBound.Dollars(),
		GapPercent:  gap(plan),
		Machines:    make([]Machine, 0, len(plan.Machines)),
		Bindings:    make([]Binding, 0, len(plan.Bindings)),
		Unplaced:    make([]Unplaced, 0, len(plan.Unplaced)),
		fleet:       fleet(&plan, snapshot),
	}
	found := pods{snapshot}
	for i := range plan.Machines {
		m := machine(&plan.Machines[i])
		m.Workloads = found.count(plan.Machines[i].Pods)
		r.Placed += len(m.Pods)
		r.Machines = append(r.Machines, m)
	}
	for _, b := range plan.Bindings {
		r.Bindings = append(r.Bindings, Binding{Pod: b.Pod.String(), Node: b.Node, GivenUp: b.GivenUp})
	}
	for _, u := range plan.Unplaced {
		r.Unplaced = append(r.Unplaced, Unplaced{Pod: u.Pod.String(), Reason: u.Reason})
	}
	r.Pods = r.Placed + len(r.Unplaced)
	return r
}

// gap returns (price - bound) / bound in percent, rounded to two digits.
func gap(plan decide.Plan) float64 {
	if plan.LowerBound <= 0 || plan.HourlyPrice <= plan.LowerBound {
		return 0
	}
	share := float64(plan.HourlyPrice-plan.LowerBound) / float64(plan.LowerBound)
	return math.Round(share*1e4) / 100
}

func machine(m *decide.Machine) Machine {
	chosen := m.Chosen()
	out := Machine{
		Name: m.Name, Provisioner: m.Provisioner,
		InstanceType: chosen.InstanceType, Zone: chosen.Zone, CapacityType: chosen.CapacityType,
		HourlyPrice: chosen.Price.Dollars(),
		Allocatable: quantities(m.Allocatable), Used: quantities(m.Used),
		Pods: names(m.Pods), Alternatives: len(m.Candidates) - 1, GivenUp: m.GivenUp,
		share: map[string]float64{},
	}
	for name, room := range m.Allocatable {
		if room > 0 {
			out.share[name] = float64(m.Used[name]) / float64(room)
		}
	}
	out.Why = why(m)
	if m.RunnerUp != nil {
		out.RunnerUp = &RunnerUp{InstanceType: m.RunnerUp.InstanceType, HourlyPrice: m.RunnerUp.Price.Dollars()}
	}
	return out
}

func quantities(l amount.List) map[string]string {
	out := make(map[string]string, len(l))
	for name, v := range l {
		if v != 0 {
			q := amount.Quantity(name, v)
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

// reasons folds unplaced pods by reason, in order of first appearance.
func (r *Report) reasons() []reason {
	var out reasons
	for _, u := range r.Unplaced {
		out.add(u.Reason, u.Pod)
	}
	return out.list
}

// givenUp folds the preferences that are not met in the same way.
func (r *Report) givenUp() []reason {
	var out reasons
	for _, b := range r.Bindings {
		for _, text := range b.GivenUp {
			out.add(text, b.Pod)
		}
	}
	for _, m := range r.Machines {
		for _, pod := range slices.Sorted(maps.Keys(m.GivenUp)) {
			for _, text := range m.GivenUp[pod] {
				out.add(text, pod)
			}
		}
	}
	return out.list
}

// reasons counts pods by what holds for them.
type reasons struct {
	list  []reason
	index map[string]int
}

func (r *reasons) add(text, pod string) {
	i, ok := r.index[text]
	if !ok {
		if r.index == nil {
			r.index = map[string]int{}
		}
		i = len(r.list)
		r.index[text] = i
		r.list = append(r.list, reason{Text: text})
	}
	r.list[i].Pods = append(r.list[i].Pods, pod)
}

// reason is a text with the pods that it is true of.
type reason struct {
	Text string
	Pods []string
}

// Who names the pods: the first and how many more.
func (r *reason) Who() string {
	if len(r.Pods) == 1 {
		return r.Pods[0]
	}
	return fmt.Sprintf("%s and %d more", r.Pods[0], len(r.Pods)-1)
}
