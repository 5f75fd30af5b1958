package cluster

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
)

// Templates shares one Template among all pods that ask for the same, so that
// ten thousand replicas cost one and are compared by comparing pointers.
// A Template that nothing refers to any more is forgotten. It is safe for
// concurrent use.
type Templates struct {
	schedulers []string

	mu     sync.Mutex
	shared map[digest]weak.Pointer[Template]
}

type digest [sha256.Size]byte

// NewTemplates returns an empty set. Pods of the default scheduler, and of the
// ones named, are ours to place.
func NewTemplates(schedulers ...string) *Templates {
	return &Templates{
		schedulers: append([]string{corev1.DefaultSchedulerName}, schedulers...),
		shared:     map[digest]weak.Pointer[Template]{},
	}
}

// intern returns the Template of the same content that is in use, or a copy of
// this one.
func (t *Templates) intern(template *Template) *Template {
	key := digestOf(struct {
		*Template
		Requests map[string]int64 // an amount.List is rounded in JSON
	}{template, template.Requests})
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.shared[key].Value(); known != nil {
		return known
	}
	fresh := template.clone()
	t.shared[key] = weak.Make(fresh)
	runtime.AddCleanup(fresh, t.forget, key)
	return fresh
}

// forget drops an entry whose Template was collected, unless the same content
// has come up again in the meantime.
func (t *Templates) forget(key digest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shared[key].Value() == nil {
		delete(t.shared, key)
	}
}

// digestOf hashes the content. JSON serves as the canonical form: it orders maps
// and keeps absent and empty selectors, which mean different things, apart.
func digestOf(content any) digest {
	data, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", content, err)) // plain data always encodes
	}
	return sha256.Sum256(data)
}
