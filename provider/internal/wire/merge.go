package wire

import "github.com/hashicorp/terraform-plugin-go/tftypes"

// Merge returns what the state shall say after a refresh: the live value where
// the prior state declares something, and the prior value where it does not.
// What nobody declared belongs to others (another field manager may have set
// it), and null and empty mean the same, so neither is ever shown as a change.
// Both values have the same type and are known.
func Merge(prior, live tftypes.Value) tftypes.Value {
	return merge(prior, live, false)
}

// merge takes whole lists as declared: the API server replaces them as a whole,
// so that inside of one there is nothing that belongs to others.
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
	return tftypes.NewValue(typ, now)
}

func mergeList(typ tftypes.List, prior, live tftypes.Value) tftypes.Value {
	before, now := Elements(prior), Elements(live)
	if len(before) != len(now) {
		return live
	}
	for i := range now {
		now[i] = merge(before[i], now[i], true)
	}
	return tftypes.NewValue(typ, now)
}

// emptyText recognises the empty text, which Kubernetes does not tell from none.
func emptyText(v tftypes.Value) bool {
	var text string
	return v.Type().Is(tftypes.String) && v.IsKnown() && !v.IsNull() && v.As(&text) == nil && text == ""
}

// empty reports whether a value says nothing: null, an empty text, or a
// collection or object of nothing but that.
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
		return len(Attributes(v)) == 0
	case tftypes.List:
		return len(Elements(v)) == 0
	}
	return false
}

// Attributes returns the attributes of a known object or the entries of a map.
func Attributes(v tftypes.Value) map[string]tftypes.Value {
	var out map[string]tftypes.Value
	if err := v.As(&out); err != nil {
		panic("a known object or map that cannot be read: " + err.Error())
	}
	return out
}

// Elements returns the elements of a known list.
func Elements(v tftypes.Value) []tftypes.Value {
	var out []tftypes.Value
	if err := v.As(&out); err != nil {
		panic("a known list that cannot be read: " + err.Error())
	}
	return out
}
