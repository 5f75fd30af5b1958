package manifest

import (
	"errors"
	"testing"
)

// FuzzParse holds that no file is too broken to be reported: each problem has its
// place, every line number is of the file, and whatever could be read is there.
func FuzzParse(f *testing.F) {
	f.Add([]byte(mixed))
	f.Add([]byte("kind: [\n---\n{}\n---\n- a\n---\nx"))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{kind: Pod, apiVersion: v1, metadata: {name: a}, spec: 7}]\n"))
	f.Add([]byte("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: 2, ordinals: {start: -3}}\n"))
	f.Add([]byte("apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: -1, completions: 1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := 1
		for _, b := range data {
			if b == '\n' {
				lines++
			}
		}
		set, err := read(string(data))
		if set == nil || set.Snapshot == nil {
			t.Fatal("no set")
		}
		for _, problem := range Problems(err) {
			var placed *Error
			if !errors.As(problem, &placed) || placed.Document < 1 || placed.Line < 1 || placed.Line > lines {
				t.Fatalf("%v has no place in a file of %d lines", problem, lines)
			}
		}
		for _, d := range set.Documents {
			if line := d.lineOf("spec.template.spec.containers[0].name"); line < 1 || line > lines {
				t.Fatalf("line %d of %d", line, lines)
			}
		}
	})
}
