package decide

import (
	"maps"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// render turns a layout into the names and objects of a plan.
func (t *turn) render(p *pack.Problem, l *pack.Layout) Plan {
	plan := Plan{Machines: make([]Machine, 0, len(l.Machines))}
	if t.in.Prove {
		plan.LowerBound = l.LowerBound()
	}
	number := map[string]int{}
	for i := range l.Machines {
		m := t.machine(p, l, &l.Machines[i])
		number[m.Provisioner]++
		m.Name = m.Provisioner + "-" + strconv.Itoa(number[m.Provisioner])
		plan.Machines = append(plan.Machines, m)
		plan.HourlyPrice += m.Chosen().Price
	}
	for i, place := range l.Places {
		d := &p.Pods[i]
		switch {
		case place.Node != "":
			plan.Bindings = append(plan.Bindings, Binding{Pod: d.Pod.PodKey, Node: place.Node, From: d.From, GivenUp: place.GivenUp})
		case !place.Placed():
			if before := t.exhausted[d.Pod.PodKey]; before != nil {
				place.Exhausted, place.Postponed = true, before.Postponed
			}
			plan.Unplaced = append(plan.Unplaced, Unplaced{Pod: d.Pod.PodKey, From: d.From, Reason: place.Reason, Exhausted: place.Exhausted, Postponed: place.Postponed})
		}
	}
	return plan
}

func (t *turn) machine(p *pack.Problem, l *pack.Layout, m *pack.Machine) Machine {
	spec := &t.in.Provisioners[m.Provisioner].Spec.Spec
	name := t.in.Provisioners[m.Provisioner].Spec.Name
	out := Machine{
		Provisioner: name,
		Candidates:  m.Candidates,
		Needed:      m.Needed,
		RunnerUp:    m.RunnerUp,
		Labels:      t.labels(m),
		Annotations: maps.Clone(spec.Annotations),
		Taints:      spec.Taints, StartupTaints: spec.StartupTaints,
		Used: m.Used, Allocatable: m.Allocatable, Ahead: m.Ahead,
	}
	out.Pods = make([]cluster.PodKey, 0, len(m.Pods))
	for _, i := range m.Pods {
		d := &p.Pods[i]
		if d.From == "" {
			out.Pods = append(out.Pods, d.Pod.PodKey)
		} else {
			out.Moving = append(out.Moving, Move{Pod: d.Pod.PodKey, From: d.From})
		}
		if given := l.Places[i].GivenUp; len(given) > 0 {
			if out.GivenUp == nil {
				out.GivenUp = map[string][]string{}
			}
			out.GivenUp[d.Pod.String()] = given
		}
	}
	return out
}

// labels returns a machine's labels without those that depend on the candidate.
// Machines with no others than their Provisioner's share them.
func (t *turn) labels(m *pack.Machine) map[string]string {
	if t.labelled == nil {
		t.labelled = make([]map[string]string, len(t.in.Provisioners))
	}
	common := t.labelled[m.Provisioner]
	if common == nil {
		p := t.in.Provisioners[m.Provisioner].Spec
		common = map[string]string{}
		for key, value := range p.Spec.Labels {
			if !api.WellKnown(api.NormalizeLabel(key)) {
				common[key] = value
			}
		}
		common[api.LabelProvisioner] = p.Name
		t.labelled[m.Provisioner] = common
	}
	if len(m.Labels) == 0 {
		return common
	}
	out := maps.Clone(common)
	maps.Copy(out, m.Labels)
	out[api.LabelProvisioner] = common[api.LabelProvisioner]
	return out
}

// Move is a running pod that is expected to come back on a machine once its node
// has gone.
type Move struct {
	Pod  cluster.PodKey
	From string
}
