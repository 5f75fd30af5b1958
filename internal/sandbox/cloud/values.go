package cloud

import (
	"maps"
	"slices"
)

// deref returns what p points to, or the zero value if it is nil: optional
// members of SDK types are pointers.
func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// nilIfEmpty returns nil for the empty string, so that the field is absent.
func nilIfEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
