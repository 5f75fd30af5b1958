package karpenter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// ClassPrefix tells the node profiles that stand for EC2NodeClasses from
// AWSNodeTemplates, whose names have no slash.
const ClassPrefix = "ec2nodeclass/"

// StandIns returns what stands for the NodePools and EC2NodeClasses of a cluster, in the
// order of their names. Those of other controllers are left out. One that cannot be served
// is there all the same, with the reason in its Source.
func StandIns(objects []map[string]any) ([]*api.Provisioner, []*api.AWSNodeTemplate, error) {
	var documents []map[string]any
	var all []Served
	identities := map[string]metav1.ObjectMeta{} // by title
	for _, object := range objects {
		if Foreign(object) != "" {
			continue
		}
		identity, err := identityOf(object)
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", title(object), err)
		}
		identities[title(object)] = identity
		if errs := Check(object).Errors(); len(errs) > 0 {
			all = append(all, Refused(object, errs))
			continue
		}
		documents = append(documents, object)
	}
	served, err := Serve(documents)
	if err != nil {
		return nil, nil, err
	}
	var provisioners []*api.Provisioner
	var profiles []*api.AWSNodeTemplate
	for _, s := range slices.Concat(all, served) {
		identity := identities[s.Kind+" "+s.Name]
		if s.NodeTemplate != nil {
			identity.Name = ClassPrefix + identity.Name
			s.NodeTemplate.ObjectMeta = identity
			profiles = append(profiles, s.NodeTemplate)
			continue
		}
		s.Provisioner.ObjectMeta = identity
		if ref := s.Provisioner.Spec.ProviderRef; ref != nil {
			ref.Name = ClassPrefix + ref.Name
		}
		provisioners = append(provisioners, s.Provisioner)
	}
	slices.SortFunc(provisioners, func(a, b *api.Provisioner) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(profiles, func(a, b *api.AWSNodeTemplate) int { return strings.Compare(a.Name, b.Name) })
	return provisioners, profiles, nil
}

// identityOf is what an object has in common with what stands for it.
func identityOf(object map[string]any) (metav1.ObjectMeta, error) {
	var all metav1.ObjectMeta
	raw, err := json.Marshal(object["metadata"])
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	return metav1.ObjectMeta{
		Name: all.Name, UID: all.UID, Generation: all.Generation, ResourceVersion: all.ResourceVersion,
		CreationTimestamp: all.CreationTimestamp, DeletionTimestamp: all.DeletionTimestamp,
	}, err
}
