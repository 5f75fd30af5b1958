package apply

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// listingAge is how long a list is used: for one refresh, and not for the next.
const listingAge = 5 * time.Second

// Listing caches a list of all objects of one kind for a few seconds, so that refreshing
// hundreds of objects takes no more requests than refreshing one. It is safe for concurrent use.
type Listing struct {
	mu      sync.Mutex
	taken   time.Time
	objects map[string]*unstructured.Unstructured
	written map[string]bool // names of objects that were written since the list was taken
}

// find returns the object of the name, or nil if the list has none. It is not ok if the list
// could not be read, or if the object was written since.
func (l *Listing) find(ctx context.Context, s *Store, name string) (live *unstructured.Unstructured, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken.IsZero() || time.Since(l.taken) > listingAge {
		objects := map[string]*unstructured.Unstructured{}
		err := call.Each(ctx, metav1.ListOptions{}, s.client.List, func(u *unstructured.Unstructured) { objects[u.GetName()] = u })
		if err != nil {
			return nil, false // the caller reads the object itself, which gives the error
		}
		l.taken, l.objects, l.written = time.Now(), objects, map[string]bool{}
	}
	return l.objects[name], !l.written[name]
}

// forget makes find return no answer about the object until the next list.
func (l *Listing) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		l.written[name] = true
	}
}
