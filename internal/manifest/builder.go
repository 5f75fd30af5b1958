package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest/syntax"
)

// Builder collects files and then builds the Set that they describe together.
type Builder struct {
	templates *cluster.Templates
	live      *cluster.Survey
	objects   objects
	documents []*Document
	files     []*File
	seen      map[string]*Document
	problems  []error
	stdin     bool // the standard input has been read
	list      bool // the file that is being read has a List
}

// NewBuilder returns an empty builder. Pods of the default scheduler, and of the
// ones named, are ours to place.
func NewBuilder(schedulers ...string) *Builder {
	return &Builder{templates: cluster.NewTemplates(schedulers...), live: &cluster.Survey{Snapshot: &cluster.Snapshot{}}, seen: map[string]*Document{}}
}

// Beside sets the cluster in which the pods of the files are made. Its classes count for them.
func (b *Builder) Beside(live *cluster.Survey) { b.live = live }

// Add adds the YAML or JSON documents of a file.
func (b *Builder) Add(file string, data []byte) {
	documents, problems := len(b.documents), len(b.problems)
	b.list = false
	for i, part := range syntax.Split(data) {
		asJSON, line, err := part.JSON()
		if err != nil {
			b.problems = append(b.problems, &Error{File: file, Document: i + 1, Line: line, Err: err})
			continue
		}
		b.add(&Document{File: file, Index: i + 1, Line: part.Line, root: rootOf(part.Text)}, asJSON)
	}
	b.files = append(b.files, &File{Name: file, Documents: b.documents[documents:], List: b.list, Broken: len(b.problems) > problems})
}

// Build returns the Set of everything that could be read, and the problems with
// the rest, in the order of the files; Problems takes them apart.
func (b *Builder) Build() (*Set, error) {
	b.standIns()
	set := &Set{Snapshot: b.snapshot(), Documents: b.documents, Files: b.files, Budgets: b.objects.budgets}
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
		if _, wrong := explain(asJSON, &header{}, []error{err}); wrong != nil {
			err = wrong
		}
		b.fail(doc, err)
		return
	}
	if strings.HasSuffix(h.Kind, "List") && h.Items != nil {
		b.addItems(doc, &h)
		return
	}
	b.documents = append(b.documents, doc)
	doc.apiVersion, doc.Kind, doc.Namespace, doc.Name = h.APIVersion, h.Kind, h.Namespace, h.Name
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

func (b *Builder) addItems(list *Document, h *header) {
	b.list = true
	for i, item := range h.Items {
		b.add(&Document{
			File: list.File, Index: list.Index, Line: list.Line,
			root: list.root, prefix: fmt.Sprintf("%sitems[%d].", list.prefix, i),
		}, withKind(item, h))
	}
}

// withKind adds the kind to an item of a list such as a PodList, in whose items the API
// server leaves it out.
func withKind(item []byte, list *header) []byte {
	kind := strings.TrimSuffix(list.Kind, "List")
	var members map[string]json.RawMessage
	if kind == "" || json.Unmarshal(item, &members) != nil || members == nil || members["kind"] != nil {
		return item
	}
	members["kind"], _ = json.Marshal(kind) // texts always encode
	if members["apiVersion"] == nil {
		members["apiVersion"], _ = json.Marshal(list.APIVersion)
	}
	out, err := json.Marshal(members)
	if err != nil {
		return item
	}
	return out
}
