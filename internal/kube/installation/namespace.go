package installation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// collectionTime is how long the garbage collector may take to delete what depended on the agent's own objects, such as
// what a CNI plugin has made for its pods.
const collectionTime = 30 * time.Second

// ephemeral are kinds whose objects do not show that somebody uses a namespace.
var ephemeral = []string{"events", "events.events.k8s.io", "leases.coordination.k8s.io", "endpoints", "endpointslices.discovery.k8s.io"}

// defaultObjects are in every namespace.
var defaultObjects = []string{"configmaps/kube-root-ca.crt", "serviceaccounts/default"}

// inhabitants returns the objects of a namespace that somebody may miss, as resource/name. It also returns the kinds
// that cannot be listed, such as for lack of a right. While all of the objects have owners, these may be gone: it waits
// for the garbage collector.
func (k *Keeper) inhabitants(ctx context.Context, namespace string) (out []string, err error) {
	limited, cancel := context.WithTimeout(ctx, collectionTime)
	defer cancel()
	err = wait.PollUntilContextCancel(limited, pollInterval, true, func(context.Context) (bool, error) {
		var owned int
		out, owned, err = k.listNamespace(ctx, namespace)
		return owned < len(out) || len(out) == 0, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	return out, err
}

// listNamespace returns what inhabitants does, and how many of these objects have owners.
func (k *Keeper) listNamespace(ctx context.Context, namespace string) (out []string, owned int, err error) {
	kinds, err := k.namespacedKinds()
	if err != nil {
		return nil, 0, err
	}
	var unlisted []string
	for _, kind := range kinds {
		list, err := call.Get(ctx, func(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
			return k.names.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		})
		resource := kind.GroupResource().String()
		switch {
		case apierrors.IsForbidden(err):
			unlisted = append(unlisted, resource+": there is no right to list them")
			continue
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // it is served no longer, or not so
			continue
		case err != nil && ctx.Err() != nil:
			return nil, 0, fmt.Errorf("list the %s in namespace %s: %w", resource, namespace, err)
		case err != nil: // such as a conversion webhook that does not answer
			unlisted = append(unlisted, resource+": "+err.Error())
			continue
		}
		for _, object := range list.Items {
			name := resource + "/" + object.GetName()
			helm := strings.HasPrefix(name, "secrets/sh.helm.release.v1.") // left by a Helm release that was taken over
			if slices.Contains(defaultObjects, name) || helm || object.GetDeletionTimestamp() != nil {
				continue
			}
			out = append(out, name)
			if len(object.GetOwnerReferences()) > 0 {
				owned++
			}
		}
	}
	return append(out, unlisted...), owned, nil
}

// namespacedKinds returns the kinds whose objects the deletion of a namespace deletes. It leaves out those of APIs that
// do not answer, such as that of metrics-server, which has no such objects.
func (k *Keeper) namespacedKinds() ([]schema.GroupVersionResource, error) {
	lists, err := discovery.ServerPreferredNamespacedResources(k.typed.Discovery())
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("look up the kinds of the cluster: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists)
	kinds, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, fmt.Errorf("look up the kinds of the cluster: %w", err)
	}
	maps.DeleteFunc(kinds, func(kind schema.GroupVersionResource, _ struct{}) bool {
		return slices.Contains(ephemeral, kind.GroupResource().String())
	})
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionResource) int { return cmp.Compare(a.String(), b.String()) }), nil
}
