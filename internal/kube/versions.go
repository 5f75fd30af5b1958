package kube

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// versioned accesses a kind of Karpenter in the newest version that the cluster serves. Each list
// finds that version again. A watch uses the version that was listed, in which the API server returns
// all objects for as long as it serves the version.
type versioned struct {
	client   dynamic.Interface
	resource schema.GroupResource
	version  atomic.Pointer[string] // nil before the first list
}

// now returns the resource in the version that was listed last, or the newest version before the
// first list.
func (v *versioned) now() schema.GroupVersionResource {
	if found := v.version.Load(); found != nil {
		return v.resource.WithVersion(*found)
	}
	return v.resource.WithVersion(kinds.Versions[0])
}

// use returns a client for the version that was listed last.
func (v *versioned) use() dynamic.ResourceInterface { return v.client.Resource(v.now()) }

func (v *versioned) list(ctx context.Context, o metav1.ListOptions) (found *unstructured.UnstructuredList, err error) {
	for _, version := range kinds.Versions {
		found, err = v.client.Resource(v.resource.WithVersion(version)).List(ctx, o)
		if err == nil {
			v.version.Store(&version)
		}
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	return found, err
}

// informer returns an informer for the kind.
func (v *versioned) informer() cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return v.list(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return v.use().Watch(ctx, o)
		},
	}
	semantics := cache.ToListWatcherWithWatchListSemantics(source, v.client) // fake clients do not stream lists
	return cache.NewSharedIndexInformer(semantics, &unstructured.Unstructured{}, 0, cache.Indexers{})
}
