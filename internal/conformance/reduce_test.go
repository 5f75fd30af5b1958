package conformance

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// reduce removes one part of a scenario after the other, as long as the rest still
// differs: objects, and then fields of their specs.
func reduce(s *scenario, differs func(*scenario) bool) *scenario {
	r := &reducer{tree: toTree(s), differs: differs, best: s}
	for more := true; more; {
		r.removed = false
		for _, kind := range slices.Sorted(maps.Keys(r.tree)) {
			list, _ := r.tree[kind].([]any)
			r.shorten(list, func(l []any) { r.tree[kind] = l })
		}
		for _, kind := range slices.Sorted(maps.Keys(r.tree)) {
			list, _ := r.tree[kind].([]any)
			for _, object := range list {
				if spec, ok := object.(map[string]any)["spec"].(map[string]any); ok {
					r.prune(spec)
				}
			}
		}
		more = r.removed
	}
	return r.best
}

// reducer holds the JSON form of what is left of a scenario.
type reducer struct {
	tree    map[string]any
	differs func(*scenario) bool
	best    *scenario
	removed bool // in this pass
}

// succeeds reports whether the tree as it is now still differs.
func (r *reducer) succeeds() bool {
	candidate, ok := fromTree(r.tree)
	if !ok || !r.differs(candidate) {
		return false
	}
	r.best, r.removed = candidate, true
	return true
}

// shorten removes elements of a list: large parts of it first, single ones at last.
func (r *reducer) shorten(list []any, set func([]any)) []any {
	for size := (len(list) + 1) / 2; size > 0; size /= 2 {
		for start := 0; start+size <= len(list); {
			without := slices.Delete(slices.Clone(list), start, start+size)
			if set(without); r.succeeds() {
				list = without
				continue
			}
			set(list)
			start += size
		}
	}
	return list
}

// prune removes fields of an object, and of what they hold.
func (r *reducer) prune(object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		old := object[key]
		if delete(object, key); r.succeeds() {
			continue
		}
		object[key] = old
		switch v := old.(type) {
		case map[string]any:
			r.prune(v)
		case []any:
			for _, element := range r.shorten(v, func(l []any) { object[key] = l }) {
				if inner, ok := element.(map[string]any); ok {
					r.prune(inner)
				}
			}
		}
	}
}

func toTree(s *scenario) map[string]any {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // plain API objects can be written
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		panic(err)
	}
	return tree
}

// fromTree returns the scenario of a tree, or false where it is none.
func fromTree(tree map[string]any) (*scenario, bool) {
	data, err := json.Marshal(tree)
	if err != nil {
		return nil, false
	}
	s := &scenario{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, false
	}
	for _, p := range s.Running {
		if !slices.ContainsFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == p.Spec.NodeName }) {
			return nil, false
		}
	}
	return s, true
}
