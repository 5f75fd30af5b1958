package wire

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Merge returns the value of the state after a refresh: the live value of what the prior state declares, and
// the prior value of everything else, which belongs to other field managers. Null and empty values mean the
// same, so that the difference is not shown as a change. Both values must be known and have the same type.
func Merge(prior, live tftypes.Value) tftypes.Value {
	return merge(prior, live, false)
}

// merge has declared set inside lists: the API server replaces a list as a whole, so that nothing in it
// belongs to other field managers.
func merge(prior, live tftypes.Value, declared bool) tftypes.Value {
	switch {
	case empty(prior) && empty(live):
		return prior
	case prior.IsNull() && !declared:
		return prior
	case prior.IsNull() || live.IsNull():
		return live
	}
	switch typ := live.Type().(type) {
	case tftypes.Object:
		return mergeObject(typ, prior, live, declared)
	case tftypes.Map:
		return mergeMap(typ, prior, live, declared)
	case tftypes.List:
		return mergeList(typ, prior, live)
	}
	return live
}

func mergeObject(typ tftypes.Object, prior, live tftypes.Value, declared bool) tftypes.Value {
	before, now := Attributes(prior), Attributes(live)
	for name := range now {
		now[name] = merge(before[name], now[name], declared)
	}
	return tftypes.NewValue(typ, now)
}

func mergeMap(typ tftypes.Map, prior, live tftypes.Value, declared bool) tftypes.Value {
	before, now := Attributes(prior), Attributes(live)
	for key := range now {
		value, ok := before[key]
		switch {
		case ok:
			now[key] = merge(value, now[key], declared)
		case !declared:
			delete(now, key)
		}
	}
	for key, value := range before {
		if _, ok := now[key]; !ok && value.IsNull() {
			now[key] = value
		}
	}
	return tftypes.NewValue(typ, now)
}

// mergeList compares the lists without the nulls of the prior one, which the API server never gets.
func mergeList(typ tftypes.List, prior, live tftypes.Value) tftypes.Value {
	before, now := Elements(prior), Elements(live)
	if sent := slices.DeleteFunc(slices.Clone(before), tftypes.Value.IsNull); len(sent) != len(now) {
		return live
	}
	merged := slices.Clone(before)
	for i, element := range before {
		if !element.IsNull() {
			merged[i], now = merge(element, now[0], true), now[1:]
		}
	}
	return tftypes.NewValue(typ, merged)
}

// emptyText reports whether a value is an empty string, which Kubernetes does not distinguish from none.
func emptyText(v tftypes.Value) bool {
	var text string
	return v.Type().Is(tftypes.String) && v.IsKnown() && !v.IsNull() && v.As(&text) == nil && text == ""
}

// empty reports whether a value is null, an empty string, a collection without other elements than nulls, or an
// object with only such attributes.
func empty(v tftypes.Value) bool {
	if v.IsNull() || emptyText(v) {
		return true
	}
	switch v.Type().(type) {
	case tftypes.Object:
		for _, attribute := range Attributes(v) {
			if !empty(attribute) {
				return false
			}
		}
		return true
	case tftypes.Map:
		for _, element := range Attributes(v) {
			if !element.IsNull() {
				return false
			}
		}
		return true
	case tftypes.List:
		return !slices.ContainsFunc(Elements(v), func(element tftypes.Value) bool { return !element.IsNull() })
	}
	return false
}

// Attributes returns the attributes of a known object or the entries of a map.
func Attributes(v tftypes.Value) map[string]tftypes.Value {
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		panic("read a known object or map: " + err.Error())
	}
	return out
}

// Elements returns the elements of a known list.
func Elements(v tftypes.Value) []tftypes.Value {
	var out []tftypes.Value
	if err := v.As(&out); err != nil {
		panic("read a known list: " + err.Error())
	}
	return out
}
