package installation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/call"
)

// discoveryPatience is how long Remove waits for an empty namespace while an API of the cluster does not
// answer. That may pass: the API of a definition that has just been deleted is missing for a moment, too.
const discoveryPatience = 30 * time.Second

// Remove deletes the objects in reverse order, and waits until each is gone. A namespace that
// contains other objects is not deleted; Remove returns these as resource/name, and the kinds of which
// it may not know whether there are any. If a namespace is empty and stays because an API of the
// cluster does not answer, the error is install.ErrTerminating.
func (k *Keeper) Remove(ctx context.Context, objects []*unstructured.Unstructured) (kept []string, err error) {
	for _, object := range slices.Backward(objects) {
		if object.GetKind() == "Namespace" {
			if kept, err = k.inhabitants(ctx, object.GetName()); err != nil {
				return nil, err
			}
			if len(kept) > 0 {
				continue
			}
		}
		if err := k.remove(ctx, object); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

func (k *Keeper) remove(ctx context.Context, object *unstructured.Unstructured) error {
	foreground := metav1.DeletePropagationForeground
	err := call.Do(ctx, func(ctx context.Context) error {
		return k.client(object).Delete(ctx, object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", title(object), err)
	}
	var live *unstructured.Unstructured // as it was read the last time
	var unread error                    // why the object could not be read since
	begin := time.Now()
	err = wait.PollUntilContextCancel(ctx, pollInterval/5, true, func(ctx context.Context) (bool, error) {
		var seen *unstructured.Unstructured
		if seen, unread = k.get(ctx, object); unread == nil {
			live = seen
		}
		if live != nil && undiscovered(live) && time.Since(begin) >= discoveryPatience {
			return false, install.ErrTerminating
		}
		return unread == nil && live == nil, nil
	})
	if errors.Is(err, install.ErrTerminating) {
		return fmt.Errorf("%s: %w%s", title(object), err, reasons(live))
	}
	if err != nil && live != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return fmt.Errorf("the wait for the deletion of %s was interrupted", title(object))
		}
		return fmt.Errorf("%s was not deleted in time\n  its finalizers: %s%s", title(object), strings.Join(live.GetFinalizers(), ", "), reasons(live))
	}
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w", title(object), cmp.Or(unread, err))
	}
	return nil
}

// undiscovered reports whether a Namespace that is being deleted has no content, and stays only because
// Kubernetes cannot discover all kinds that it might contain. A single API whose pods do not run is enough.
func undiscovered(namespace *unstructured.Unstructured) bool {
	return condition(namespace, "NamespaceDeletionDiscoveryFailure") == "True" &&
		condition(namespace, "NamespaceDeletionContentFailure") == "False" && condition(namespace, "NamespaceContentRemaining") == "False"
}

// reasons returns what the conditions of a namespace or a CustomResourceDefinition say about its
// deletion.
func reasons(object *unstructured.Unstructured) string {
	var out strings.Builder
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["status"] == "True" && m["message"] != nil && m["type"] != "Established" && m["type"] != "NamesAccepted" {
			fmt.Fprintf(&out, "\n  %v: %v", m["type"], m["message"])
		}
	}
	return out.String()
}

// RemoveLease deletes the Lease that agents have created for leader election. It succeeds if there
// is none.
func (k *Keeper) RemoveLease(ctx context.Context, namespace string) error {
	err := call.Do(ctx, func(ctx context.Context) error {
		return k.typed.CoordinationV1().Leases(namespace).Delete(ctx, install.LeaseName, metav1.DeleteOptions{})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the lease %s/%s: %w", namespace, install.LeaseName, err)
	}
	return nil
}
