package decide

import (
	"fmt"
	"maps"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// render turns a layout into the names and objects of a plan.
func (t *turn) render(p *pack.Problem, l *pack.Layout) Plan {
	plan := Plan{LowerBound: l.LowerBound, Machines: make([]Machine, 0, len(l.Machines))}
	number := map[string]int{}
	for i := range l.Machines {
		m := t.machine(p, l, &l.Machines[i])
		number[m.Provisioner]++
		m.Name = fmt.Sprintf("%s-%d", m.Provisioner, number[m.Provisioner])
		plan.Machines = append(plan.Machines, m)
		plan.HourlyPrice += m.Chosen().Price
	}
	for i, place := range l.Places {
		d := &p.Pods[i]
		switch {
		case place.Node != "":
			plan.Bindings = append(plan.Bindings, Binding{Pod: d.Pod.PodKey, Node: place.Node, From: d.From, GivenUp: place.GivenUp})
		case !place.Placed():
			plan.Unplaced = append(plan.Unplaced, Unplaced{Pod: d.Pod.PodKey, From: d.From, Reason: place.Reason})
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
		RunnerUp:    m.RunnerUp,
		Labels:      map[string]string{},
		Annotations: maps.Clone(spec.Annotations),
		Taints:      spec.Taints, StartupTaints: spec.StartupTaints,
		Used: m.Used, Allocatable: m.Allocatable, Ahead: m.Ahead,
	}
	for key, value := range spec.Labels {
		if !api.WellKnown(api.NormalizeLabel(key)) {
			out.Labels[key] = value
		}
	}
	maps.Copy(out.Labels, m.Labels)
	out.Labels[api.LabelProvisioner] = name
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

// Move is a running pod that is expected to come back on a machine once its node
// has gone.
type Move struct {
	Pod  cluster.PodKey
	From string
}
