package view

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// gracePeriod is the terminationGracePeriod of a Provisioner, as its nodes carry it; empty for none.
func gracePeriod(p *Provisioner) string {
	if d := p.Spec.Spec.Disruption; d != nil && d.TerminationGracePeriod != nil {
		return d.TerminationGracePeriod.Duration.String()
	}
	return ""
}

// GracePeriod is the change after which a node carries the terminationGracePeriod that its Provisioner has
// now. It reports false if the node carries it already, or if nobody can say what it is.
func GracePeriod(p *Provisioner, n *cluster.Node) (cluster.NodeChange, bool) {
	if p == nil || p.Reason == ReasonValidation || len(p.Findings.Errors()) > 0 {
		return cluster.NodeChange{}, false
	}
	is, want := n.Annotations[api.AnnotationGracePeriod], gracePeriod(p)
	if want == "" {
		return cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationGracePeriod}}, is != ""
	}
	return cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationGracePeriod: want}}, is != want
}
