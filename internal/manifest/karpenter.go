package manifest

import (
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// addKarpenter takes a NodePool or an EC2NodeClass. What stands for it is known only
// when all files are read: a NodePool has the kubelet settings of its class.
func (b *Builder) addKarpenter(doc *Document, asJSON []byte) error {
	tree, _ := decode.Tree(asJSON)
	object, _ := tree.(map[string]any)
	if !kinds.Known(object) {
		return nil // what is no JSON object has no kind, which is reported
	}
	doc.Karpenter, doc.Namespace = object, ""
	doc.Known = karpenter.Foreign(object) == ""
	found := check.Object(object)
	doc.Ignored = found.Warnings()
	if errs := found.Errors(); len(errs) > 0 {
		return errs
	}
	if class := karpenter.Foreign(object); class != "" {
		doc.Ignored = append(doc.Ignored, finding.Finding{
			Path: "spec.template.spec.nodeClassRef", Text: finding.Say("its nodes are those of %s, so Packhorse does not serve it", class),
			Advice: finding.Say("its own controller goes on doing so"),
		})
	}
	return b.claimName(doc)
}

// standIns makes what stands for the NodePools and EC2NodeClasses that break no rule.
func (b *Builder) standIns() {
	var documents []map[string]any
	of := map[string]*Document{}
	for _, doc := range b.documents {
		if doc.Karpenter != nil && doc.Known && b.seen[doc.Object()] == doc {
			documents = append(documents, doc.Karpenter)
			of[doc.Object()] = doc
		}
	}
	served, err := karpenter.Serve(documents)
	if err != nil {
		b.problems = append(b.problems, err)
		return
	}
	for _, s := range served {
		doc := of[s.Kind+" "+s.Name]
		doc.Provisioner, doc.NodeTemplate = s.Provisioner, s.NodeTemplate
		for _, loss := range s.Losses {
			reported := func(f finding.Finding) bool { return f.Path == loss.Path }
			if !slices.ContainsFunc(doc.Ignored, reported) { // an unknown field has no counterpart either
				doc.Ignored = append(doc.Ignored, loss)
			}
		}
		own := api.ProvisionerKind
		if s.NodeTemplate != nil {
			own = api.NodeTemplateKind
		}
		if other := b.seen[own+" "+s.Name]; other != nil {
			b.fail(doc, refused("metadata.name", other.Object()+" has this name too, and names of nodes' owners must differ", "rename one of the two"))
			doc.Provisioner, doc.NodeTemplate = nil, nil
		}
	}
}

// adviseVersion says which version of Karpenter's kinds can be read.
func adviseVersion(doc *Document) string {
	switch doc.Kind {
	case kinds.NodePoolKind, kinds.NodeClassKind:
		if doc.Karpenter != nil {
			return " (another controller's)"
		}
		group := kinds.NodePools.Group
		if doc.Kind == kinds.NodeClassKind {
			group = kinds.NodeClasses.Group
		}
		return " (its apiVersion is none of " + group + "/" + strings.Join(kinds.Versions, " and "+group+"/") + ")"
	}
	return ""
}
