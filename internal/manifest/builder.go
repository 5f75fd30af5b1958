package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Builder collects files and then builds the Set that they describe together.
type Builder struct {
	templates *cluster.Templates
	objects   objects
	rows      []cluster.Pod // from tables
	tables    int
	documents []*Document
	files     []*File
	seen      map[string]*Document
	problems  []error
}

// NewBuilder returns an empty builder. Pods of the default scheduler, and of the
// ones named, are ours to place.
func NewBuilder(schedulers ...string) *Builder {
	return &Builder{templates: cluster.NewTemplates(schedulers...), seen: map[string]*Document{}}
}

// Add adds the YAML or JSON documents of a file.
func (b *Builder) Add(file string, data []byte) {
	documents, problems := len(b.documents), len(b.problems)
	for _, doc := range split(file, data) {
		asJSON, err := toJSON(doc)
		if err != nil {
			b.problems = append(b.problems, err)
			continue
		}
		b.add(doc, asJSON)
	}
	b.files = append(b.files, &File{Name: file, Documents: b.documents[documents:], Broken: len(b.problems) > problems})
}

// Build returns the Set of everything that could be read, and the problems with
// the rest, in the order of the files; Problems takes them apart.
func (b *Builder) Build() (*Set, error) {
	b.standIns()
	set := &Set{Snapshot: b.snapshot(), Documents: b.documents, Files: b.files}
	for _, d := range b.documents {
		if d.Provisioner != nil {
			set.Provisioners = append(set.Provisioners, d.Provisioner)
		}
		if d.NodeTemplate != nil {
			set.NodeTemplates = append(set.NodeTemplates, d.NodeTemplate)
		}
	}
	slices.SortStableFunc(set.Provisioners, func(a, b *api.Provisioner) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(set.NodeTemplates, func(a, b *api.AWSNodeTemplate) int { return cmp.Compare(a.Name, b.Name) })
	return set, errors.Join(b.problems...)
}

// toJSON converts a document. A syntax error gets its line in the file.
func toJSON(doc *Document) ([]byte, error) {
	if text := bytes.TrimSpace(doc.text); text[0] == '{' && json.Valid(text) {
		return text, nil
	}
	asJSON, err := yaml.YAMLToJSONStrict(doc.text)
	if err == nil {
		return asJSON, nil
	}
	return nil, syntaxError(doc, err)
}

// header is what all objects and lists have.
type header struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Items             []json.RawMessage `json:"items"`
}

func (b *Builder) add(doc *Document, asJSON []byte) {
	var h header
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asJSON, &h); err != nil {
		b.documents = append(b.documents, doc)
		b.fail(doc, explain(err))
		return
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		b.addItems(doc, h.Items)
		return
	}
	b.documents = append(b.documents, doc)
	doc.Kind, doc.Namespace, doc.Name = h.Kind, h.Namespace, h.Name
	if err := b.addObject(doc, &h, asJSON); err != nil {
		b.fail(doc, err)
	}
}

// fail notes what is wrong with a document.
func (b *Builder) fail(doc *Document, err error) {
	for _, f := range finding.Of(err) {
		b.problems = append(b.problems, doc.At(f))
	}
}

func refused(path, text, advice string) error {
	return finding.Finding{Severity: finding.Error, Path: path, Text: finding.Plain(text), Advice: finding.Plain(advice)}
}

func (b *Builder) addItems(list *Document, items []json.RawMessage) {
	for i, item := range items {
		b.add(&Document{
			File: list.File, Index: list.Index, Line: list.Line,
			text: list.text, prefix: fmt.Sprintf("%sitems[%d].", list.prefix, i),
		}, item)
	}
}
