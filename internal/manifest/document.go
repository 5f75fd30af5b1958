package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	source     *source
	prefix     string // path of a List's item
}

// source is the text of a document, which the items of a List share.
type source struct {
	text []byte
	root func() *yaml.Node // what the text holds; nil where it is no YAML
}

// newSource parses the text once, when a line is asked for: a List may have thousands of
// findings.
func newSource(text []byte) *source {
	return &source{text: text, root: sync.OnceValue(func() *yaml.Node {
		var root yaml.Node
		if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
			return nil
		}
		return root.Content[0]
	})}
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
	return &Error{File: d.File, Document: d.Index, Line: d.LineOf(f.Path), Object: d.Object(), Err: f}
}

// LineOf returns the line of a field in the file, such as spec.taints[0].key or
// spec.labels[example.com/team]; the nearest parent's where the field is absent.
func (d *Document) LineOf(path string) int {
	node, line := d.source.root(), 1
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

// split cuts a file into its documents; those without content are left out.
func split(file string, data []byte) []*Document {
	var out []*Document
	start, line, first := 0, 1, 1
	end := func(at int) {
		text := data[start:at]
		if !hasContent(text) {
			return
		}
		for _, value := range values(text) {
			out = append(out, &Document{File: file, Index: len(out) + 1, Line: first, source: newSource(value)})
			first += bytes.Count(value, []byte("\n"))
		}
	}
	for at := 0; at < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if ends, begins := separator(data[at:next]); begins {
			end(at)
			start, first = at, line
		} else if ends {
			end(at)
			start, first = next, line+1
		}
		at = next
	}
	end(len(data))
	return out
}

// values cuts a document where it is several JSON objects one after the other, as
// `kubectl get -o json` and jq print them.
func values(text []byte) [][]byte {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Valid(text) {
		return [][]byte{text}
	}
	var out [][]byte
	start, decoder := int64(0), json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || value[0] != '{' {
			return [][]byte{text} // YAML in braces, or an error of syntax
		}
		end := decoder.InputOffset()
		out = append(out, text[start:end])
		start = end
	}
}

// separator reports whether a line ends a document, by three dashes or dots in the first
// column, and whether the next one begins on the same line, as in "--- {kind: Pod}".
func separator(line []byte) (ends, begins bool) {
	rest, dashes := bytes.CutPrefix(line, []byte("---"))
	if !dashes {
		if rest, ends = bytes.CutPrefix(line, []byte("...")); !ends {
			return false, false
		}
	}
	text := bytes.TrimSpace(rest)
	if len(text) == 0 || text[0] == '#' {
		return true, false
	}
	begins = dashes && (rest[0] == ' ' || rest[0] == '\t')
	return begins, begins
}

// hasContent reports whether a text has more than comments and directives, such as %YAML 1.2.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		directive := line[0] == '%'
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !directive {
			return true
		}
	}
	return false
}
