package karpenter

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Served is what stands for a NodePool or an EC2NodeClass: one of Provisioner and
// NodeTemplate is set.
type Served struct {
	Kind, Name   string
	Provisioner  *api.Provisioner
	NodeTemplate *api.AWSNodeTemplate
	// Losses are warnings: what the object says and is not done.
	Losses finding.List
}

// Serve returns what stands for NodePools and EC2NodeClasses, sorted by kind and name.
// They must have passed check.Object, and be Karpenter's: see Foreign. Kubelet settings of a
// class are those of the pools that use it, so that all objects are to be given at once.
func Serve(documents []map[string]any) ([]Served, error) {
	c := newConverter(nil)
	c.serving = true
	objects, err := c.convertAll(documents)
	if err != nil {
		return nil, err
	}
	out := make([]Served, 0, len(objects))
	for _, o := range objects {
		s, err := o.served()
		if err != nil {
			return nil, fmt.Errorf("serve %s: %w", o.Origin, err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Refused stands for an object that cannot be served because of errors.
func Refused(document map[string]any, errs finding.List) Served {
	version, _ := document["apiVersion"].(string)
	kind, _ := document["kind"].(string)
	name := kinds.NameOf(document)
	source := &api.Origin{APIVersion: version, Kind: kind}
	for _, f := range errs {
		source.Unsupported = append(source.Unsupported, api.Unsupported{Path: f.Path, Text: f.Body()})
	}
	out := Served{Kind: kind, Name: name}
	if kind == kinds.NodeClassKind {
		out.NodeTemplate = &api.AWSNodeTemplate{Source: source}
		out.NodeTemplate.Name = name
		return out
	}
	out.Provisioner = &api.Provisioner{Source: source}
	out.Provisioner.Name = name
	return out
}

func (o *Object) served() (Served, error) {
	out := Served{Kind: o.from.Kind, Name: o.Name}
	source := &o.from
	for _, f := range o.Unsupported {
		source.Unsupported = append(source.Unsupported, api.Unsupported{Path: f.Path, Text: f.Body()})
	}
	for _, loss := range o.lost {
		loss.Severity = finding.Warning
		out.Losses = append(out.Losses, loss)
	}
	spec, err := json.Marshal(o.Spec)
	if err != nil {
		return out, err
	}
	if o.Kind == api.ProvisionerKind {
		p := &api.Provisioner{Source: source}
		p.Name = o.Name
		out.Provisioner = p
		err := o.fill(spec, &p.Spec)
		if p.Spec.Labels == nil {
			p.Spec.Labels = map[string]string{}
		}
		// Selectors and affinities name the pool and its class by them.
		p.Spec.Labels[api.LabelNodePool], p.Spec.Labels[api.LabelRegistered] = o.Name, "true"
		// The API server would refuse the Node objects of a class whose name is too long for the value of a label.
		if ref := p.Spec.ProviderRef; ref != nil && len(ref.Name) <= validation.LabelValueMaxLength {
			p.Spec.Labels[api.LabelNodeClass] = ref.Name
		}
		return out, err
	}
	t := &api.AWSNodeTemplate{Source: source}
	t.Name = o.Name
	out.NodeTemplate = t
	err = o.fill(spec, &t.Spec)
	t.Spec.Class = o.class
	return out, err
}

// fill decodes a spec, unless it cannot be read, which is among the unsupported.
func (o *Object) fill(spec []byte, into any) error {
	if err := json.Unmarshal(spec, into); err != nil && len(o.Unsupported) == 0 {
		return err
	}
	return nil
}
