package manifest

import (
	"bytes"
	"strconv"
	"strings"

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

	text   []byte
	prefix string // path of a List's item
}

// Object returns kind and name: "Pod shop/web".
func (d *Document) Object() string {
	switch {
	case d.Kind == "":
		return ""
	case d.Namespace != "":
		return d.Kind + " " + d.Namespace + "/" + d.Name
	}
	return d.Kind + " " + d.Name
}

// At gives a finding about this document its place: the line of the field.
func (d *Document) At(f finding.Finding) *Error {
	return &Error{File: d.File, Document: d.Index, Line: d.LineOf(f.Path), Object: d.Object(), Err: f}
}

// LineOf returns the line of a field in the file, such as spec.taints[0].key or
// spec.labels[example.com/team]; the nearest parent's where the field is absent.
func (d *Document) LineOf(path string) int {
	var root yaml.Node
	if yaml.Unmarshal(d.text, &root) != nil || len(root.Content) == 0 {
		return d.Line
	}
	node, line := root.Content[0], 1
	for i, step := range append(steps(d.prefix), steps(path)...) {
		next, at := descend(node, step)
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

// steps splits a.b[0].c[x.y/z] into a, b, 0, c and x.y/z.
func steps(path string) []string {
	var out []string
	for path != "" {
		if inner, ok := strings.CutPrefix(path, "["); ok {
			step, rest, _ := strings.Cut(inner, "]")
			out, path = append(out, step), strings.TrimPrefix(rest, ".")
			continue
		}
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			return append(out, path)
		}
		out = append(out, path[:end])
		path = strings.TrimPrefix(path[end:], ".")
	}
	return out
}

// split cuts a file into its documents; those without content are left out.
func split(file string, data []byte) []*Document {
	var out []*Document
	start, line, first := 0, 1, 1
	end := func(at int) {
		if text := data[start:at]; hasContent(text) {
			out = append(out, &Document{File: file, Index: len(out) + 1, Line: first, text: text})
		}
	}
	for at := 0; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if separator(data[at:next]) {
			end(at)
			start, first = next, line+1
		}
		at = next
	}
	end(len(data))
	return out
}

// separator reports whether a line ends a document: three dashes in the first
// column, followed by nothing or a comment.
func separator(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("---"))
	rest = bytes.TrimSpace(rest)
	return ok && (len(rest) == 0 || rest[0] == '#')
}

func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}
