package kube

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// changes are the names of objects that have changed in a cache.
type changes struct {
	mu    sync.Mutex
	names map[cache.ObjectName]bool
}

func newChanges() *changes { return &changes{names: map[cache.ObjectName]bool{}} }

// add notes an object that a cache has added, changed or removed.
func (c *changes) add(object any) {
	if c == nil {
		return
	}
	name, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		return // what has no name is in no cache
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[name] = true
}

// take returns what was noted since it was called last.
func (c *changes) take() map[cache.ObjectName]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.names
	c.names = map[cache.ObjectName]bool{}
	return out
}

// converted holds what a cache's objects are converted to, by namespace and name. Only
// what has changed is converted again.
type converted[T any] struct {
	changes *changes
	convert func(cache.ObjectName) (T, bool)
	nameOf  func(*T) cache.ObjectName

	sorted []T
}

// newConverted leaves out the objects for which convert returns false.
func newConverted[O, T any](m *mirror, convert func(O) (T, bool), nameOf func(*T) cache.ObjectName) *converted[T] {
	return &converted[T]{
		changes: m.changes,
		convert: func(name cache.ObjectName) (out T, ok bool) {
			item, exists, err := m.informer.GetStore().GetByKey(name.String())
			if o, is := item.(O); is && exists && err == nil {
				return convert(o)
			}
			return out, false
		},
		nameOf: nameOf,
	}
}

// take returns copies of all, in order.
func (c *converted[T]) take() []T {
	c.update()
	return slices.Clone(c.sorted)
}

func (c *converted[T]) update() {
	var fresh []T
	gone := map[int]bool{}
	for name := range c.changes.take() {
		value, ok := c.convert(name)
		i, there := slices.BinarySearchFunc(c.sorted, name, func(v T, name cache.ObjectName) int { return compareNames(c.nameOf(&v), name) })
		switch {
		case ok && there:
			c.sorted[i] = value
		case ok:
			fresh = append(fresh, value)
		case there:
			gone[i] = true
		}
	}
	if len(gone) > 0 {
		kept := make([]T, 0, len(c.sorted))
		for i, v := range c.sorted {
			if !gone[i] {
				kept = append(kept, v)
			}
		}
		c.sorted = kept
	}
	if len(fresh) > 0 {
		slices.SortFunc(fresh, c.compare)
		c.sorted = merge(c.sorted, fresh, c.compare)
	}
}

func (c *converted[T]) compare(a, b T) int { return compareNames(c.nameOf(&a), c.nameOf(&b)) }

func compareNames(a, b cache.ObjectName) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// merge joins two lists that are in order.
func merge[T any](a, b []T, compare func(a, b T) int) []T {
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
