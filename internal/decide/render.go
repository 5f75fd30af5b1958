package decide

import (
	"maps"
	"slices"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// render turns a layout into the names and objects of a plan.
func (d *decision) render(p *pack.Problem, l *pack.Layout) Plan {
	plan := Plan{Machines: make([]Machine, 0, len(l.Machines))}
	if d.in.Prove {
		plan.LowerBound = l.LowerBound()
	}
	number := map[string]int{}
	for i := range l.Machines {
		m := d.machine(p, l, &l.Machines[i])
		number[m.Provisioner]++
		m.Name = m.Provisioner + "-" + strconv.Itoa(number[m.Provisioner])
		plan.Machines = append(plan.Machines, m)
		plan.HourlyPrice += m.Chosen().Price
	}
	for i, place := range l.Places {
		asked := &p.Pods[i]
		switch {
		case place.Node != "":
			plan.Bindings = append(plan.Bindings, Binding{Pod: asked.Pod.PodKey, Node: place.Node, From: asked.From, GivenUp: place.GivenUp})
		case !place.Placed():
			if before := d.exhausted[asked.Pod.PodKey]; before != nil {
				place.Exhausted, place.Postponed = true, before.Postponed
			}
			plan.Unplaced = append(plan.Unplaced, Unplaced{Pod: asked.Pod.PodKey, From: asked.From, Reason: place.Reason, Exhausted: place.Exhausted, Postponed: place.Postponed})
		}
	}
	return plan
}

// leftOut names the DaemonSets that fit on no machine of Provisioners, with those for which the reason is the same.
func leftOut(l *pack.Layout) []LeftOut {
	var out []LeftOut
	for _, of := range l.LeftOut() {
		if of.DaemonSet.Template.Static {
			continue // see cluster.Snapshot.WithStaticPods: there is no such object
		}
		ref := cluster.ObjectRef{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: of.DaemonSet.Namespace, Name: of.DaemonSet.Name, UID: of.DaemonSet.UID}
		reason := of.Reason()
		i := slices.IndexFunc(out, func(l LeftOut) bool { return l.DaemonSet == ref && l.Reason == reason })
		if i < 0 {
			i = len(out)
			out = append(out, LeftOut{DaemonSet: ref, Reason: reason})
		}
		out[i].Provisioners = append(out[i].Provisioners, of.Pool.Spec.Name)
	}
	return out
}

func (d *decision) machine(p *pack.Problem, l *pack.Layout, m *pack.Machine) Machine {
	spec := &d.in.Provisioners[m.Provisioner].Spec.Spec
	name := d.in.Provisioners[m.Provisioner].Spec.Name
	out := Machine{
		Provisioner: name,
		Candidates:  m.Candidates,
		Needed:      m.Needed,
		RunnerUp:    m.RunnerUp,
		Labels:      d.labels(m),
		Annotations: maps.Clone(spec.Annotations),
		Taints:      spec.Taints, StartupTaints: spec.StartupTaints,
		Used: m.Used, Allocatable: m.Allocatable, Ahead: m.Ahead,
	}
	out.Pods = make([]cluster.PodKey, 0, len(m.Pods))
	for _, i := range m.Pods {
		asked := &p.Pods[i]
		if asked.From == "" {
			out.Pods = append(out.Pods, asked.Pod.PodKey)
		} else {
			out.Moving = append(out.Moving, Move{Pod: asked.Pod.PodKey, From: asked.From})
		}
		if given := l.Places[i].GivenUp; len(given) > 0 {
			if out.GivenUp == nil {
				out.GivenUp = map[string][]string{}
			}
			out.GivenUp[asked.Pod.String()] = given
		}
	}
	return out
}

// labels returns a machine's labels without those that depend on the candidate.
// Machines with no others than their Provisioner's share them.
func (d *decision) labels(m *pack.Machine) map[string]string {
	if d.labelled == nil {
		d.labelled = make([]map[string]string, len(d.in.Provisioners))
	}
	common := d.labelled[m.Provisioner]
	if common == nil {
		p := d.in.Provisioners[m.Provisioner].Spec
		common = map[string]string{}
		for key, value := range p.Spec.Labels {
			if !api.WellKnown(api.NormalizeLabel(key)) {
				common[key] = value
			}
		}
		common[api.LabelProvisioner] = p.Name
		d.labelled[m.Provisioner] = common
	}
	if len(m.Labels) == 0 {
		return common
	}
	out := maps.Clone(common)
	maps.Copy(out, m.Labels)
	out[api.LabelProvisioner] = common[api.LabelProvisioner]
	return out
}
