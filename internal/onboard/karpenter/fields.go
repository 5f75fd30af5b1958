package karpenter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// errEnd is how the decoder says that there are no more documents.
var errEnd = io.EOF

// fields is a JSON object that is taken apart: what nobody takes is lost, so
// that nothing can be forgotten.
type fields struct {
	path string // with a trailing dot
	left map[string]any
	*outcome
}

// outcome is what has come of a whole object so far.
type outcome struct {
	losses      []loss
	unsupported finding.List
	// paths of the object's fields, by those of what is made of them.
	paths map[string]string
}

// loss is about a field that the object made from another lacks.
type loss struct {
	finding.Finding
	// served tells that nothing is lost where the other object is served as it is.
	served bool
}

func newFields(value any) *fields {
	object, _ := value.(map[string]any)
	return &fields{path: "spec.", left: maps.Clone(object), outcome: &outcome{paths: map[string]string{}}}
}

// take returns a field and counts it as dealt with; nil if it is not there.
func (f *fields) take(name string) any {
	value := f.left[name]
	delete(f.left, name)
	return value
}

// text returns a field that is a string.
func (f *fields) text(name string) string {
	value := f.take(name)
	if s, ok := value.(string); ok {
		return s
	}
	if value != nil {
		f.lose(name, fmt.Sprintf("%v is no string", value))
	}
	return ""
}

// inner returns an object below, whose losses count here; call done on it.
func (f *fields) inner(name string) *fields {
	object, _ := f.take(name).(map[string]any)
	return &fields{path: f.path + name + ".", left: maps.Clone(object), outcome: f.outcome}
}

// items returns the objects of a list.
func (f *fields) items(name string) []*fields {
	list, _ := f.take(name).([]any)
	var out []*fields
	for i, item := range list {
		object, _ := item.(map[string]any)
		out = append(out, &fields{path: fmt.Sprintf("%s%s[%d].", f.path, name, i), left: maps.Clone(object), outcome: f.outcome})
	}
	return out
}

// lose notes that a field has no counterpart.
func (f *fields) lose(name, why string) {
	f.losses = append(f.losses, loss{Finding: f.finding(name, why)})
}

func (f *fields) finding(name, why string) finding.Finding {
	return finding.Finding{Path: f.path + name, Text: finding.Plain(why)}
}

// leave notes that a Provisioner or an AWSNodeTemplate has no counterpart of a field,
// which is served all the same.
func (f *fields) leave(name, why string) {
	f.losses = append(f.losses, loss{f.finding(name, why), true})
}

// refuse takes a field without which nodes would not be what they are meant to be.
func (f *fields) refuse(name, why string) {
	if hollow(f.take(name)) {
		return
	}
	f.unsupported = append(f.unsupported, f.finding(name, why))
	f.lose(name, why)
}

// done loses what nobody has taken.
func (f *fields) done() {
	for _, name := range slices.Sorted(maps.Keys(f.left)) {
		if !hollow(f.left[name]) {
			f.lose(name, "has no counterpart")
		}
	}
	clear(f.left)
}

// hollow reports whether a value says nothing.
func hollow(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

// put sets a field unless the value says nothing.
func put(object map[string]any, name string, value any) {
	if !hollow(value) {
		object[name] = value
	}
}

// seconds converts a duration of Kubernetes; false for "Never".
func seconds(text string) (int64, bool, error) {
	if text == never {
		return 0, false, nil
	}
	d, err := time.ParseDuration(text)
	return int64(d / time.Second), err == nil, err
}

const never = "Never"

// plain turns a typed value into JSON objects with whole numbers as int64.
func plain(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	normalised, _ := numbers(out).(map[string]any)
	return normalised, nil
}

// copied returns a spec that shares nothing with the document that it was taken from,
// with whole numbers as int64.
func copied(spec map[string]any) map[string]any {
	out, _ := numbers(runtime.DeepCopyJSONValue(spec)).(map[string]any)
	return out
}

// numbers replaces the decoder's numbers.
func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		return v.String()
	case map[string]any:
		for key, inner := range v {
			v[key] = numbers(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = numbers(inner)
		}
	}
	return value
}
