package karpenter

import (
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// selector converts selector terms. Any of several terms may match, while all
// keys of our selectors must: terms are merged where that means the same.
func selector(spec *fields, name string) map[string]any {
	return merge(spec.items(name), name, spec)
}

func merge(terms []*fields, name string, spec *fields) map[string]any {
	var all []map[string]string
	for _, term := range terms {
		all = append(all, termOf(term))
		term.done()
	}
	if len(all) == 0 {
		return nil
	}
	merged, ok := alternatives(all)
	if !ok {
		spec.lose(name, "any of several terms may match there, and only one selector here: the first term was kept; "+
			"tag what the others find, or list ids with "+api.SelectorIDs)
		merged = all[0]
	}
	out := map[string]any{}
	for key, value := range merged {
		out[key] = value
	}
	return out
}

// termOf returns one term as a selector.
func termOf(term *fields) map[string]string {
	out := map[string]string{}
	tags, _ := term.take("tags").(map[string]any)
	for key, value := range tags {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	if id := term.text("id"); id != "" {
		out[api.SelectorIDs] = id
	}
	if owner := term.text("owner"); owner != "" {
		out[api.SelectorAMIOwners] = owner
	}
	if name := term.text("name"); name != "" {
		if strings.Contains(term.path, "amiSelectorTerms") {
			out[api.SelectorAMIName] = name
		} else {
			term.lose("name", "is not the tag Name: select by tags or ids")
		}
	}
	return out
}

// alternatives joins terms that differ in the value of one key only.
func alternatives(terms []map[string]string) (map[string]string, bool) {
	out := maps.Clone(terms[0])
	for _, term := range terms[1:] {
		if !slices.Equal(slices.Sorted(maps.Keys(term)), slices.Sorted(maps.Keys(out))) {
			return nil, false
		}
		var differ []string
		for key := range term {
			if term[key] != out[key] {
				differ = append(differ, key)
			}
		}
		if len(differ) > 1 {
			return nil, false
		}
		for _, key := range differ {
			out[key] += "," + term[key]
		}
	}
	return out, onlyOneVaries(terms)
}

// onlyOneVaries reports whether all differences are in the same key.
func onlyOneVaries(terms []map[string]string) bool {
	varies := map[string]bool{}
	for _, term := range terms[1:] {
		for key, value := range term {
			if value != terms[0][key] {
				varies[key] = true
			}
		}
	}
	return len(varies) <= 1
}
