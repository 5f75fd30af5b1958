package cluster

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// NodeMark is what the annotations of a node say that was chosen to go voluntarily.
type NodeMark struct {
	// Reason is one of api.DisruptionReasons; empty where the node was not chosen. Other programs have other reasons.
	Reason string
	// At is when the node was chosen; zero where nobody knows.
	At time.Time
	// Own: the mark has the note of what replaces the node. Marks without that are other programs', such as
	// those of a Karpenter that was uninstalled. Their nodes may stay for ever.
	Own bool
	// Replacements names the nodes that must be up before the node is drained.
	Replacements []string
	// Step names all nodes that were chosen together with this one, which is one of them; nil if it was chosen alone.
	Step []string
}

// Mark reads the mark of a node; it is zero where there is none.
func (n *Node) Mark() NodeMark {
	by, noted := n.Annotations[api.AnnotationReplacedBy]
	m := NodeMark{Reason: n.Annotations[api.AnnotationDisruption], Replacements: api.SplitList(by), Step: api.SplitList(n.Annotations[api.AnnotationDisruptedWith])}
	m.Own = noted && m.Reason != ""
	if at := n.Annotations[api.AnnotationDisruptedAt]; at != "" {
		m.At, _ = time.Parse(time.RFC3339, at) // zero if it is no time
	}
	return m
}

// EmptySince reads the emptiness timestamp of a node. One that is no time counts as none.
func (n *Node) EmptySince() (time.Time, bool) {
	since, err := time.Parse(time.RFC3339, n.Annotations[api.AnnotationEmptiness])
	return since, err == nil
}
