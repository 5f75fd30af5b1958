package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// File is one of the files that a Set was read from.
type File struct {
	Name      string
	Documents []*Document // those whose kind could be read, items of Lists included
	// List tells whether there is a List, which is empty if there are no documents.
	List bool
	// Broken tells whether some of it could not be read, which is a problem of its own.
	Broken bool
}

// Holds reports whether any of the documents is wanted.
func (f *File) Holds(wanted func(*Document) bool) bool {
	return slices.ContainsFunc(f.Documents, wanted)
}

// Nothing is the error of a file that holds nothing wanted, nil for all others. What
// names the kinds that are wanted.
func (f *File) Nothing(wanted func(*Document) bool, what string) error {
	switch {
	case f.Broken || f.Holds(wanted):
		return nil
	case len(f.Documents) == 0 && f.List:
		return &Error{File: f.Name, Err: fmt.Errorf("holds an empty List; the file should hold %s", what)}
	case len(f.Documents) == 0:
		return &Error{File: f.Name, Err: fmt.Errorf("the file is empty; it should hold %s", what)}
	}
	return &Error{File: f.Name, Err: fmt.Errorf("contains only %s; the file should hold %s", list(f.Documents), what)}
}

// Others is a warning that names the documents that are not wanted, or says that there are none.
func (f *File) Others(wanted func(*Document) bool) []string {
	others := slices.DeleteFunc(slices.Clone(f.Documents), func(d *Document) bool { return wanted(d) || d.Kind == "" }) // without a kind it is an error
	switch {
	case len(f.Documents) == 0 && f.List:
		return []string{f.Name + ": holds an empty List"}
	case len(others) == 0:
		return nil
	}
	return []string{fmt.Sprintf("%s: ignored: %s", f.Name, list(others))}
}

// list names documents by kind and name. Of many it names the first few and counts
// the rest.
func list(documents []*Document) string {
	const most = 5
	var names []string
	for _, d := range documents[:min(most, len(documents))] {
		name := d.Object() + adviseKind(d)
		names = append(names, name)
	}
	out := strings.Join(names, ", ")
	if more := len(documents) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// kindNames are the names of all kinds that a decision looks at.
func kindNames() []string {
	return append(slices.Sorted(maps.Keys(served)), api.ProvisionerKind, api.NodeTemplateKind, kinds.NodePoolKind, kinds.NodeClassKind)
}

// adviseKind says what to do about a kind that is nearly one of ours.
func adviseKind(d *Document) string {
	if advice := adviseVersion(d); advice != "" {
		return advice
	}
	if of := served[d.Kind]; of != "" && of != d.apiVersion {
		return " (of " + d.apiVersion + ", not of " + of + ")"
	}
	if near, ok := api.Suggest(d.Kind, kindNames()); ok && near != d.Kind {
		return " (did you mean " + near + "?)"
	}
	return ""
}
