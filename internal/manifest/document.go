package manifest

import (
	"strconv"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Document is one YAML or JSON document of a file, or one item of a List.
type Document struct {
	File      string
	Index     int // of the document in its file, counted from 1
	Line      int // of its first line in the file
	Kind      string
	Namespace string
	Name      string
	// One of these is set where the kind is ours and could be decoded.
	Provisioner  *api.Provisioner
	NodeTemplate *api.AWSNodeTemplate
	// Karpenter is a NodePool or an EC2NodeClass as it is written. Where it can be served,
	// Provisioner or NodeTemplate is what stands for it.
	Karpenter map[string]any
	// Known tells whether a decision looks at objects of the kind.
	Known bool
	// Ignored are the fields that nothing reads.
	Ignored finding.List

	apiVersion string
	root       func() *yaml.Node // what its text holds, which the items of a List share
	prefix     string            // path of a List's item
}

// rootOf parses a text once, when a line is asked for: a List may have thousands of findings.
// It returns nil where the text is no YAML.
func rootOf(text []byte) func() *yaml.Node {
	return sync.OnceValue(func() *yaml.Node {
		var root yaml.Node
		if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
			return nil
		}
		return root.Content[0]
	})
}

// Object returns kind and name: "Pod shop/web".
func (d *Document) Object() string {
	switch {
	case d.Kind == "" || d.Name == "":
		return d.Kind
	case d.Namespace != "":
		return d.Kind + " " + d.Namespace + "/" + d.Name
	}
	return d.Kind + " " + d.Name
}

// At gives a finding about this document its place: the line of the field.
func (d *Document) At(f finding.Finding) *Error {
	return &Error{File: d.File, Document: d.Index, Line: d.lineOf(f.Path), Object: d.Object(), Err: f}
}

// lineOf returns the line of a field in the file, such as spec.taints[0].key or
// spec.labels[example.com/team]; the nearest parent's where the field is absent.
func (d *Document) lineOf(path string) int {
	node, line := d.root(), 1
	if node == nil {
		return d.Line
	}
	for i, step := range append(finding.Steps(d.prefix), finding.Steps(path)...) {
		next, at := descend(node, step.Name)
		if next == nil {
			break
		}
		if i == 0 || at > 0 {
			line = at
		}
		node = next
	}
	return d.Line + line - 1
}

// descend returns the node under a step, and the line on which it is named.
func descend(node *yaml.Node, step string) (*yaml.Node, int) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1], node.Content[i].Line
			}
		}
	case yaml.SequenceNode:
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(node.Content) {
			return node.Content[n], node.Content[n].Line
		}
	}
	return nil, 0
}
