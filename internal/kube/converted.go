package kube

import (
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// changes are the keys of objects that have changed in a cache.
type changes struct {
	mu   sync.Mutex
	keys map[string]bool
}

func newChanges() *changes { return &changes{keys: map[string]bool{}} }

// add notes an object that a cache has added, changed or removed.
func (c *changes) add(object any) {
	if c == nil {
		return
	}
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return // what has no name is in no cache
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[key] = true
}

// take returns what was noted since it was called last.
func (c *changes) take() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.keys
	c.keys = map[string]bool{}
	return out
}

// converted holds what a cache's objects are converted to, in order. Only what has
// changed is converted again.
type converted[T any] struct {
	changes *changes
	convert func(key string) (T, bool)
	compare func(a, b *T) int

	byKey  map[string]*T
	sorted []*T
}

// newConverted leaves out the objects for which convert returns false. The order
// must follow from what never changes of an object with a name.
func newConverted[O, T any](m *mirror, convert func(O) (T, bool), compare func(a, b *T) int) *converted[T] {
	return &converted[T]{
		changes: m.changes,
		convert: func(key string) (out T, ok bool) {
			item, exists, err := m.informer.GetStore().GetByKey(key)
			if o, is := item.(O); is && exists && err == nil {
				return convert(o)
			}
			return out, false
		},
		compare: compare,
		byKey:   map[string]*T{},
	}
}

// take returns copies of all, in order.
func (c *converted[T]) take() []T {
	c.update()
	out := make([]T, len(c.sorted))
	for i, p := range c.sorted {
		out[i] = *p
	}
	return out
}

func (c *converted[T]) update() {
	var fresh []*T
	gone := map[*T]bool{}
	for key := range c.changes.take() {
		value, ok := c.convert(key)
		was := c.byKey[key]
		switch {
		case ok && was != nil:
			*was = value
		case ok:
			c.byKey[key] = &value
			fresh = append(fresh, &value)
		case was != nil:
			delete(c.byKey, key)
			gone[was] = true
		}
	}
	if len(gone) > 0 {
		c.sorted = slices.DeleteFunc(c.sorted, func(p *T) bool { return gone[p] })
	}
	if len(fresh) > 0 {
		slices.SortFunc(fresh, c.compare)
		c.sorted = merge(c.sorted, fresh, c.compare)
	}
}

// merge joins two lists that are in order.
func merge[T any](a, b []*T, compare func(a, b *T) int) []*T {
	out := make([]*T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
