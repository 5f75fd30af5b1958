package apply

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

const (
	// listingAge is how old a list may be that answers reads: long enough for
	// one refresh, short enough that nobody notices.
	listingAge  = 5 * time.Second
	listingPage = 500
)

// Listing answers the reads of many objects of one kind from one list: refreshing
// hundreds of objects then costs as many requests as refreshing one. What is
// written in between is forgotten.
type Listing struct {
	mu      sync.Mutex
	taken   time.Time
	objects map[string]*unstructured.Unstructured
	written map[string]bool // since the list was taken
}

// find returns an object of the list, or nil if there is none. Unless ok, the
// list does not tell: it could not be taken, or the object was written since.
func (l *Listing) find(ctx context.Context, s *Store, name string) (live *unstructured.Unstructured, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken.IsZero() || time.Since(l.taken) > listingAge {
		objects, err := s.list(ctx)
		if err != nil {
			return nil, false // reading the one object says what is wrong
		}
		l.taken, l.objects, l.written = time.Now(), objects, map[string]bool{}
	}
	return l.objects[name], !l.written[name]
}

// forget makes the next read of the object a request of its own.
func (l *Listing) forget(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		l.written[name] = true
	}
}

// list reads all objects of the kind.
func (s *Store) list(ctx context.Context) (map[string]*unstructured.Unstructured, error) {
	out := map[string]*unstructured.Unstructured{}
	options := metav1.ListOptions{Limit: listingPage}
	for {
		page, err := call.Get(ctx, func(ctx context.Context) (*unstructured.UnstructuredList, error) { return s.client.List(ctx, options) })
		if err != nil {
			return nil, s.explain(err, "list", "")
		}
		for i := range page.Items {
			out[page.Items[i].GetName()] = &page.Items[i]
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return out, nil
		}
	}
}
