// Package manifest reads a cluster from files: Provisioners, node profiles and
// Kubernetes objects in YAML or JSON, and pods as rows of a table. Workloads
// become the pods that their controllers would create.
package manifest

import (
	"errors"
	"fmt"
	"io"
	"os"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Set is what the files describe.
type Set struct {
	Snapshot      *cluster.Snapshot
	Provisioners  []*api.Provisioner     // as written, sorted by name
	NodeTemplates []*api.AWSNodeTemplate // as written, sorted by name
	Documents     []*Document            // in the order in which they were read
	Files         []*File                // in the order in which they were read
	// Budgets are the PodDisruptionBudgets as written. Those of the snapshot allow what its pods do.
	Budgets []*policyv1.PodDisruptionBudget
}

// Warnings lists what was ignored, with its place.
func (s *Set) Warnings() []string {
	var out []string
	for _, d := range s.Documents {
		for _, w := range d.Ignored {
			out = append(out, d.At(w).Error())
		}
	}
	for _, f := range s.Files {
		out = append(out, f.Others(func(d *Document) bool { return d.Known })...)
	}
	return out
}

// Error is a problem with its place.
type Error struct {
	File     string
	Document int    // counted from 1; 0: the file as a whole
	Line     int    // counted from 1; 0: not known
	Object   string // such as "Pod shop/web"; empty before that is known
	Err      error
}

// Error returns file:line, the document, the object and the problem.
func (e *Error) Error() string {
	out := e.File
	if e.Line > 0 {
		out += fmt.Sprintf(":%d", e.Line)
	}
	if e.Document > 0 {
		out += fmt.Sprintf(": document %d", e.Document)
	}
	if e.Object != "" {
		out += ": " + e.Object
	}
	return out + ": " + e.Err.Error()
}

// Unwrap returns the problem itself.
func (e *Error) Unwrap() error { return e.Err }

// Read reads files; "-" is the standard input.
func Read(files ...string) (*Set, error) {
	b := NewBuilder()
	for _, f := range files {
		b.AddFile(f)
	}
	return b.Build()
}

// AddFile adds the YAML or JSON documents of a file; "-" is the standard input.
func (b *Builder) AddFile(path string) {
	data, err := b.readAll(path)
	if err != nil {
		b.problems = append(b.problems, err)
		return
	}
	b.Add(path, data)
}

func (b *Builder) readAll(path string) ([]byte, error) {
	if path != "-" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, &Error{File: path, Err: errors.New("is a directory; name its files")}
		}
		return os.ReadFile(path)
	}
	if b.stdin {
		return nil, &Error{File: path, Err: errors.New("the standard input is named twice, and can be read once; remove one of the two")}
	}
	b.stdin = true
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return data, nil
}

// Problems takes an error of Build apart.
func Problems(err error) []error {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		return many.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
