package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
// defaults, and others may add labels, containers or volumes. Live holds the objects in the same order,
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
			is, wanted := excerpts(have, want)
			out = append(out, fmt.Sprintf("%s: %s is %s, declared is %s", name, path[1:], is, wanted))
		})
	}
	return out
}

// keys are the fields by which Kubernetes merges lists of a pod. What others add to these stays when the lists are
// applied.
var keys = map[string]string{"containers": "name", "env": "name", "ports": "name", "volumes": "name", "volumeMounts": "mountPath"}

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
		if key, merged := keys[path[strings.LastIndex(path, ".")+1:]]; merged {
			elements = pick(want, elements, key)
		}
		if !same && len(want) > 0 || len(elements) != len(want) {
			tell(path, want, have)
			return
		}
		for i := range want {
			compare(fmt.Sprintf("%s[%d]", path, i), want[i], elements[i], tell)
		}
	default:
		if asJSON(want) != asJSON(have) {
			tell(path, want, have)
		}
	}
}

// pick returns the elements of have that have the keys of those of want, nil for each that is not there. If elements of
// want have no key, as ports of a NetworkPolicy, it returns have.
func pick(want, have []any, key string) []any {
	of := func(element any) string {
		fields, _ := element.(map[string]any)
		text, _ := fields[key].(string)
		return text
	}
	out := make([]any, len(want))
	for i, w := range want {
		if of(w) == "" {
			return have
		}
		if at := slices.IndexFunc(have, func(h any) bool { return of(h) == of(w) }); at >= 0 {
			out[i] = have[at]
		}
	}
	return out
}

// asJSON is a value as JSON, in which numbers of all types are alike.
func asJSON(value any) string {
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}

// excerpts returns two values as JSON. Of long ones, it returns the part where they begin to differ.
func excerpts(a, b any) (string, string) {
	const before, longest = 50, 200
	x, y := []rune(asJSON(a)), []rune(asJSON(b))
	from := 0
	if max(len(x), len(y)) > longest {
		same := 0
		for same < min(len(x), len(y)) && x[same] == y[same] {
			same++
		}
		from = max(0, same-before)
	}
	part := func(of []rune) string {
		out := string(of[from:min(len(of), from+longest)])
		if from > 0 {
			out = "…" + out
		}
		if len(of) > from+longest {
			out += "…"
		}
		return out
	}
	return part(x), part(y)
}
