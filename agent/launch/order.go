package launch

import (
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// order is one launch: identical machines of a plan.
type order struct {
	offer.Order
	by       *view.Provisioner
	machines []*decide.Machine
	refusals []offer.Refusal
	missing  int       // machines that were not delivered
	since    time.Time // its first pod was seen waiting
	paused   time.Time // the end of the last pause of the Provisioner when it was placed
	err      error
	doubtful bool // machines may have been bought although the order failed
}

// orders merges identical machines. The result is in the order of the plan.
func orders(v *view.View, machines []*decide.Machine) []*order {
	var out []*order
	alike := map[key][]*order{}
	for _, m := range machines {
		p := v.ByName[m.Provisioner]
		if p == nil || len(m.Candidates) == 0 {
			continue
		}
		k := keyOf(m)
		i := slices.IndexFunc(alike[k], func(o *order) bool { return same(o.machines[0], m) })
		if i < 0 {
			o := newOrder(p, m)
			i = len(alike[k])
			alike[k] = append(alike[k], o)
			out = append(out, o)
		}
		o := alike[k][i]
		o.machines = append(o.machines, m)
		o.Count++
	}
	return out
}

// key is what is compared first: machines that have different keys are not identical.
type key struct {
	provisioner string
	first       offer.Candidate
	candidates  int
}

func keyOf(m *decide.Machine) key { return key{m.Provisioner, m.Candidates[0], len(m.Candidates)} }

// same reports whether machines with the same key are identical.
func same(a, b *decide.Machine) bool {
	shared := &a.Candidates[0] == &b.Candidates[0] // as is mostly so, of hundreds
	return (shared || slices.Equal(a.Candidates, b.Candidates)) && slices.Equal(a.Needed, b.Needed) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) &&
		slices.Equal(a.Taints, b.Taints) && slices.Equal(a.StartupTaints, b.StartupTaints)
}

func newOrder(p *view.Provisioner, m *decide.Machine) *order {
	o := &order{by: p}
	o.Provisioner = m.Provisioner
	o.Candidates, o.Needed = m.Candidates, m.Needed
	o.Node = offer.NodeSpec{
		Labels:  view.NodeLabels(p, m),
		Taints:  slices.Concat(m.Taints, m.StartupTaints),
		Kubelet: p.Spec.Spec.KubeletConfiguration,
		Profile: p.Profile,
	}
	o.Tags = adoptionTags(p, m)
	return o
}

// adoptionTags hold what a later agent needs to make the Node object, beyond what
// the instance and the Provisioner say.
func adoptionTags(p *view.Provisioner, m *decide.Machine) map[string]string {
	tags := map[string]string{}
	for key, value := range m.Labels {
		if said, ok := p.Spec.Spec.Labels[key]; key != api.LabelProvisioner && (!ok || said != value) {
			tags[api.TagLabelPrefix+key] = value
		}
	}
	for _, key := range view.BuiltFrom {
		if value := view.NodeAnnotations(p, m)[key]; value != "" {
			tags[key] = value
		}
	}
	return tags
}
