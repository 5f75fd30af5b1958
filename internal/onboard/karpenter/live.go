package karpenter

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
)

// ClassPrefix tells the node profiles that stand for EC2NodeClasses from
// AWSNodeTemplates, whose names have no slash.
const ClassPrefix = "ec2nodeclass/"

// StandIns returns what stands for the NodePools and EC2NodeClasses of a cluster, with their
// identities, in the order of their kinds and names. Those of other controllers are left
// out. One that cannot be served is there all the same, with the reason in its Source; what
// package check warns of is among the losses.
func StandIns(objects []map[string]any) []Served {
	var out []Served
	var sound []map[string]any
	said := map[string]finding.List{} // by title
	for _, object := range objects {
		if Foreign(object) != "" {
			continue
		}
		found := check.Object(object)
		said[title(object)] = found.Warnings()
		if errs := found.Errors(); len(errs) > 0 {
			out = append(out, Refused(object, errs))
		} else {
			sound = append(sound, object)
		}
	}
	served, err := Serve(sound)
	if err != nil {
		served = nil
		for _, object := range sound {
			served = append(served, Refused(object, finding.Of(err)))
		}
	}
	out = append(out, served...)
	slices.SortFunc(out, func(a, b Served) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	for i := range out {
		s := &out[i]
		s.Losses = slices.Concat(said[s.Kind+" "+s.Name], s.Losses)
		s.identify(objects[slices.IndexFunc(objects, func(o map[string]any) bool { return title(o) == s.Kind+" "+s.Name })])
	}
	return out
}

// identify gives the stand-in the identity of the object.
func (s *Served) identify(object map[string]any) {
	if s.NodeTemplate != nil {
		s.NodeTemplate.ObjectMeta = identityOf(object)
		s.NodeTemplate.Name = ClassPrefix + s.Name
		return
	}
	s.Provisioner.ObjectMeta = identityOf(object)
	if ref := s.Provisioner.Spec.ProviderRef; ref != nil {
		ref.Name = ClassPrefix + ref.Name
	}
}

// identityOf is what an object has in common with its stand-in.
func identityOf(object map[string]any) metav1.ObjectMeta {
	u := unstructured.Unstructured{Object: object}
	return metav1.ObjectMeta{
		Name: u.GetName(), UID: u.GetUID(), Generation: u.GetGeneration(), ResourceVersion: u.GetResourceVersion(),
		CreationTimestamp: u.GetCreationTimestamp(), DeletionTimestamp: u.GetDeletionTimestamp(),
	}
}
