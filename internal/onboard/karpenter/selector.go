package karpenter

import (
	"fmt"
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
		spec.leave(name, "any of several terms may match there, and only one selector here: the first term was kept; "+
			"tag what the others find, or list ids with "+api.SelectorIDs)
		merged = all[0]
	}
	out := map[string]any{}
	for key, value := range merged {
		out[key] = value
	}
	return out
}

// termsOf returns selector terms as selectors of which any may match, without taking
// them.
func termsOf(spec *fields, name string) []map[string]string {
	list, _ := spec.left[name].([]any)
	var out []map[string]string
	for _, item := range list {
		term, _ := item.(map[string]any)
		selector := map[string]string{}
		tags, _ := term["tags"].(map[string]any)
		for key, value := range tags {
			if selector[key], _ = value.(string); strings.Contains(selector[key], ",") {
				spec.left[name+" with a comma"] = true
				spec.refuse(name+" with a comma", fmt.Sprintf("the value %q of the tag %s would mean one of several", selector[key], key))
			}
		}
		byName := api.SelectorAMIName
		if name == "securityGroupSelectorTerms" {
			byName = api.SelectorGroupName
		}
		for field, key := range map[string]string{
			"id": api.SelectorIDs, "name": byName, "owner": api.SelectorAMIOwners, "ssmParameter": api.SelectorParameter,
		} {
			if text, _ := term[field].(string); text != "" {
				selector[key] = text
			}
		}
		out = append(out, selector)
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
	if parameter := term.text("ssmParameter"); parameter != "" {
		term.leave("ssmParameter", "select the image that it holds by its id")
	}
	if name := term.text("name"); name != "" {
		if strings.Contains(term.path, "amiSelectorTerms") {
			out[api.SelectorAMIName] = name
		} else {
			term.leave("name", "is not the tag Name: select by tags or ids")
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

const reservationField = "capacityReservationSelectorTerms"

// reservationTerms takes the terms that select capacity reservations.
func reservationTerms(spec *fields) []map[string]string {
	var out []map[string]string
	for _, term := range spec.items(reservationField) {
		selector := map[string]string{}
		tags, _ := term.take("tags").(map[string]any)
		for key, value := range tags {
			selector[key], _ = value.(string)
		}
		for field, key := range map[string]string{
			"id": api.SelectorIDs, "ownerID": api.SelectorReservationOwner, "instanceMatchCriteria": api.SelectorReservationMatch,
		} {
			if text := term.text(field); text != "" {
				selector[key] = text
			}
		}
		term.done()
		out = append(out, selector)
	}
	return out
}
