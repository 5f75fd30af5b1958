package agent

import (
	"fmt"
	"maps"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// order is one launch: identical machines of a plan.
type order struct {
	offer.Order
	by       *provisioner
	machines []*decide.Machine
	refusals []offer.Refusal
	missing  int       // machines that were not delivered
	since    time.Time // its first pod was seen waiting
	err      error
}

// ranking tells slices of candidates apart. Machines that are alike mostly share one, of hundreds.
type ranking struct {
	first *offer.Candidate
	count int
}

// orders merges identical machines. The result is in the order of the plan.
func orders(v *view, machines []*decide.Machine) []*order {
	var out []*order
	known := map[string]*order{}
	ranked := map[ranking]string{}
	for _, m := range machines {
		p := v.byName[m.Provisioner]
		if p == nil || len(m.Candidates) == 0 {
			continue
		}
		shared := ranking{&m.Candidates[0], len(m.Candidates)}
		if ranked[shared] == "" {
			ranked[shared] = fmt.Sprint(m.Candidates)
		}
		// Maps print in key order, so equal content gives equal text.
		key := ranked[shared] + fmt.Sprint(m.Provisioner, m.Labels, m.Annotations, m.Taints, m.StartupTaints)
		o := known[key]
		if o == nil {
			o = newOrder(p, m)
			known[key] = o
			out = append(out, o)
		}
		o.machines = append(o.machines, m)
		o.Count++
	}
	return out
}

func newOrder(p *provisioner, m *decide.Machine) *order {
	o := &order{by: p}
	o.Provisioner = m.Provisioner
	o.Candidates = m.Candidates
	o.Node = offer.NodeSpec{
		Labels:  nodeLabels(p, m),
		Taints:  append(append(o.Node.Taints, m.Taints...), m.StartupTaints...),
		Kubelet: p.spec.Spec.KubeletConfiguration,
		Profile: p.profile,
	}
	o.Tags = adoptionTags(p, m)
	return o
}

// nodeLabels are the labels that do not depend on what is bought.
func nodeLabels(p *provisioner, m *decide.Machine) map[string]string {
	labels := maps.Clone(p.spec.Spec.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, m.Labels)
	labels[api.LabelProvisioner] = p.raw.Name
	return labels
}

// adoptionTags hold what a later agent needs to make the Node object, beyond what
// the instance and the Provisioner say.
func adoptionTags(p *provisioner, m *decide.Machine) map[string]string {
	tags := map[string]string{}
	for key, value := range m.Labels {
		if said, ok := p.spec.Spec.Labels[key]; key != api.LabelProvisioner && (!ok || said != value) {
			tags[api.TagLabelPrefix+key] = value
		}
	}
	for _, key := range []string{api.AnnotationProvisionerHash, api.AnnotationProfileHash} {
		if value := nodeAnnotations(p, m)[key]; value != "" {
			tags[key] = value
		}
	}
	return tags
}

// nodeAnnotations are the annotations that do not depend on what is bought.
func nodeAnnotations(p *provisioner, m *decide.Machine) map[string]string {
	annotations := maps.Clone(p.spec.Spec.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[api.AnnotationProvisionerHash] = p.raw.Hash()
	if p.market.ProfileHash != "" {
		annotations[api.AnnotationProfileHash] = p.market.ProfileHash
	}
	maps.Copy(annotations, m.Annotations)
	return annotations
}
