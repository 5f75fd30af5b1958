// Package podcache mirrors the pods of a cluster. It needs little memory, also while it is filled.
package podcache

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// pageSize is how many pods of the API server are in memory at once while the cache is filled.
const pageSize = 500

// running selects the pods that have not finished. The others use no resources, and a cluster may have thousands of them.
var running = fields.AndSelectors(
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
).String()

// Pod is what the cache holds instead of the API server's object, which takes ten times as much memory.
type Pod struct {
	metav1.ObjectMeta // only namespace, name, UID and resource version
	Converted         cluster.Pod
	Unfinished        bool
}

// GetObjectKind makes a Pod a runtime.Object, as the items of a list must be.
func (*Pod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the same Pod, because nobody changes what a cache holds.
func (p *Pod) DeepCopyObject() runtime.Object { return p }

func convert(templates *cluster.Templates, o *corev1.Pod) *Pod {
	out := &Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion}}
	out.Converted, out.Unfinished = templates.Pod(o)
	return out
}

// Transform returns the transform of the cache.
func Transform(templates *cluster.Templates) cache.TransformFunc {
	return func(object any) (any, error) {
		if o, ok := object.(*corev1.Pod); ok {
			return convert(templates, o), nil
		}
		return object, nil // converted already, or a cache.DeletedFinalStateUnknown
	}
}

// Informer returns an informer for the pods that have not finished. It needs the transform of the same templates.
func Informer(client kubernetes.Interface, templates *cluster.Templates) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(source(client, templates, pageSize), &corev1.Pod{}, 0, cache.Indexers{})
}

func source(client kubernetes.Interface, templates *cluster.Templates, pageSize int64) cache.ListerWatcher {
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, pods, templates, pageSize)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = running
			return pods.Watch(ctx, o)
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(source, client) // fake clients do not stream lists
}

// list returns the pods as they are now. API servers that do not stream lists would otherwise answer with all of them at
// once, because they ignore a limit where the request accepts any state of their own cache, as an informer's does.
//
// If the state that the pages are from expires, list fails, and the informer calls it again. A single list of all pods,
// to which client-go's pager falls back, might end the process for lack of memory.
func list(ctx context.Context, pods typedcorev1.PodInterface, templates *cluster.Templates, pageSize int64) (*metav1.List, error) {
	out := &metav1.List{}
	for o := (metav1.ListOptions{FieldSelector: running, Limit: pageSize}); ; {
		page, err := pods.List(ctx, o)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			out.Items = append(out.Items, runtime.RawExtension{Object: convert(templates, &page.Items[i])})
		}
		out.ResourceVersion, o.Continue = page.ResourceVersion, page.Continue
		if o.Continue == "" {
			return out, nil
		}
	}
}
