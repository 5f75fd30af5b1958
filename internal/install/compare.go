package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Revision is a digest of everything that an installation declares.
func Revision(objects []*unstructured.Unstructured) (string, error) {
	text, err := YAML(objects)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Differences lists what is declared and is not so in the cluster, one sentence
// each. What the cluster has besides is no difference: the API server adds
// defaults, and others may add labels. Live holds the objects in the same order,
// nil for those that are not there.
func Differences(declared, live []*unstructured.Unstructured) []string {
	var out []string
	for i, object := range declared {
		name := object.GetKind() + " " + object.GetName()
		if live[i] == nil {
			out = append(out, name+" is not there")
			continue
		}
		compare("", object.Object, live[i].Object, func(path string, want, have any) {
			out = append(out, fmt.Sprintf("%s: %s is %s, declared is %s", name, path[1:], short(have), short(want)))
		})
	}
	return out
}

// compare tells every leaf of want that have lacks or has another value of.
func compare(path string, want, have any, tell func(path string, want, have any)) {
	switch want := want.(type) {
	case nil:
		return // null declares nothing
	case map[string]any:
		fields, same := have.(map[string]any)
		if !same && len(want) > 0 {
			tell(path, want, have)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			compare(path+"."+key, want[key], fields[key], tell)
		}
	case []any:
		elements, same := have.([]any)
		if !same && len(want) > 0 || len(elements) != len(want) {
			tell(path, want, have)
			return
		}
		for i := range want {
			compare(fmt.Sprintf("%s[%d]", path, i), want[i], elements[i], tell)
		}
	default:
		if short(want) != short(have) {
			tell(path, want, have)
		}
	}
}

// short is a value as JSON, in which numbers of all types are alike.
func short(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	const longest = 200
	if len(text) > longest {
		return string(slices.Concat(text[:longest], []byte("…")))
	}
	return string(text)
}
