package manifest

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

const aPod, bPod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}`

// TestNothingIsLeftUnread: each object of a file is read, however the objects are separated,
// or the file is refused.
func TestNothingIsLeftUnread(t *testing.T) {
	const yamlA, yamlB = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n"
	for name, text := range map[string]string{
		"JSON objects in a row":       aPod + bPod,
		"JSON objects, one a line":    aPod + "\n" + bPod + "\n",
		"three dots":                  yamlA + "...\n" + yamlB,
		"three dots and three dashes": yamlA + "... # end\n---\n" + yamlB,
		"directives":                  "%YAML 1.2\n---\n" + yamlA + "...\n%YAML 1.2\n---\n" + yamlB,
		"an object behind the dashes": yamlA + "--- " + bPod + "\n",
		"a tag behind the dashes":     "--- !pod\n" + yamlA + "--- !pod\n" + yamlB,
		"UTF-16 of Windows":           inUTF16(binary.LittleEndian, yamlA+"---\r\n"+yamlB),
		"UTF-16, big end first":       inUTF16(binary.BigEndian, yamlA+"---\n"+yamlB),
		"a mark before a comment":     "\ufeff# two pods\n---\n" + yamlA + "---\n" + yamlB,
		"JSON and YAML":               aPod + "\n---\n" + yamlB,
		"Windows line endings":        strings.ReplaceAll(yamlA+"---\n"+yamlB, "\n", "\r\n"),
		"line endings of old Macs":    strings.ReplaceAll(yamlA+"---\n"+yamlB, "\n", "\r"),
		"mixed line endings":          strings.ReplaceAll(yamlA, "\n", "\r") + "---\r\n" + yamlB,
		"a PodList of the API server": `{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`,
		"a List in a List":            `{"kind": "List", "apiVersion": "v1", "items": [{"kind": "PodList", "apiVersion": "v1", "items": [` + aPod + `,` + bPod + `]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{"default/a pending", "default/b pending"}, podLines(parse(t, text).Snapshot.Pods)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"a second object in braces": {"{kind: Pod}\n{kind: Pod}\n", "in.yaml:1: document 1: holds more than one object; separate objects with a line of three dashes"},
		"one behind the dashes":     {"--- {kind: Pod}\n{kind: Pod}\n", "in.yaml:1: document 1: holds more than one object; separate objects with a line of three dashes"},
		"ISO 8859-1":                {"# one\n# f\xfcr den Laden\nkind: Pod\n", "in.yaml:2: document 1: holds bytes that are not UTF-8; save the file in UTF-8"},
		"JSON that is cut off":      {"{\n\"kind\": \"List\",\n\"items\": [\n" + aPod + ",\n{\"kind\":\n", "in.yaml:5: document 1: ends in the middle of a JSON object; the file may be cut off: save it again"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(c.text); err == nil || err.Error() != c.want {
				t.Errorf("error is\n%v\nand not\n%s", err, c.want)
			}
		})
	}
}

func inUTF16(order binary.AppendByteOrder, text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// TestMergeKeys: what a merge key brings may be overridden, as for kubectl. A key that is there
// twice is refused all the same, and so is what follows an object that is fine.
func TestMergeKeys(t *testing.T) {
	const text = `kind: List
apiVersion: v1
items:
- &pod
  apiVersion: v1
  kind: Pod
  metadata: &metadata {name: a, labels: {app: web}}
- <<: *pod
  metadata: {<<: *metadata, name: b}
`
	set := parse(t, text)
	if diff := cmp.Diff([]string{"default/a pending", "default/b pending"}, podLines(set.Snapshot.Pods)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := set.Snapshot.Pods[1].Template.Labels["app"]; got != "web" {
		t.Errorf("the label app is %q, want that of the merge key", got)
	}
	for name, c := range map[string]struct{ more, want string }{
		"a key that is there twice":  {"  metadata: {name: c}\n", `in.yaml:10: document 1: is not valid YAML from this line on: mapping key "metadata" already defined`},
		"an indent that is too deep": {"- kind: Pod\n   apiVersion: v1\n", "in.yaml:11: document 1: is not valid YAML from this line on"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := read(text + c.more); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is\n%v\nand not\n%s", err, c.want)
			}
		})
	}
}

// TestGeneratedNamesDiffer: objects with the same generateName are different objects, in one
// List as in several files.
func TestGeneratedNamesDiffer(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-"}}`
	b := NewBuilder()
	b.Add("one.json", []byte(pod))
	b.Add("two.json", []byte(pod))
	b.Add("three.json", []byte(`{"apiVersion": "v1", "kind": "List", "items": [`+pod+`,`+pod+`]}`))
	set, err := b.Build()
	if err != nil || len(set.Snapshot.Pods) != 4 {
		t.Errorf("got %v and %v, want four pods", podLines(set.Snapshot.Pods), err)
	}
}

// TestLargeFiles: a List of thousands of objects that each have a finding, and one that is
// broken in the middle, are parsed a few times and not once for each finding or line, which
// took minutes.
func TestLargeFiles(t *testing.T) {
	const count, broken = 1000, 500
	var longAnnotations strings.Builder
	for i := range 93 {
		fmt.Fprintf(&longAnnotations, "      a%d: b\n", i)
	}
	item := func(i int) string {
		return fmt.Sprintf("- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p%d\n%s  spec:\n    brandNew: 1\n", i, "    annotations:\n"+longAnnotations.String())
	}
	var list strings.Builder
	list.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range count {
		list.WriteString(item(i))
	}
	warnings := parse(t, list.String()).Warnings()
	want := fmt.Sprintf("in.yaml:%d: document 1: Pod default/p%d: spec.brandNew: unknown field, ignored", 3+100*count, count-1)
	if len(warnings) != count || warnings[count-1] != want {
		t.Errorf("%d warnings, want %d, the last\n%s", len(warnings), count, want)
	}

	_, err := read(strings.Replace(list.String(), item(broken), "- a: [\n", 1))
	if want := fmt.Sprintf("in.yaml:%d: document 1: is not valid YAML near this line", 3+100*broken+1); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v, want %s", err, want)
	}
}
