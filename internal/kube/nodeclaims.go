package kube

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// Claims reads and changes the NodeClaims of a cluster. Karpenter has a NodeClaim for each of its
// machines.
type Claims struct {
	*Cluster
	kind *versioned
}

// ClaimsOf returns the NodeClaims of a cluster that serves NodePools.
func ClaimsOf(c *Cluster) Claims {
	return Claims{c, &versioned{client: c.dynamic, resource: kinds.NodeClaims}}
}

// NodeClaims returns the NodeClaims. There is no cache of them: they are needed while nodes are
// taken over, and rarely afterwards. If the cluster does not serve the kind, there are none.
func (c Claims) NodeClaims(ctx context.Context) ([]cluster.NodeClaim, error) {
	var found *unstructured.UnstructuredList
	err := retry(ctx, func(ctx context.Context) (err error) {
		found, err = c.kind.list(ctx, metav1.ListOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the NodeClaims: %w", err)
	}
	var out []cluster.NodeClaim
	for i := range found.Items {
		out = append(out, NodeClaimOf(found.Items[i].Object))
	}
	return out, nil
}

// NodeClaimOf converts a NodeClaim from its JSON document.
func NodeClaimOf(document map[string]any) cluster.NodeClaim {
	u := unstructured.Unstructured{Object: document}
	node, _, _ := unstructured.NestedString(document, "status", "nodeName")
	machine, _, _ := unstructured.NestedString(document, "status", "providerID")
	return cluster.NodeClaim{Name: u.GetName(), UID: string(u.GetUID()), Pool: u.GetLabels()[api.LabelNodePool], Node: node, ProviderID: machine}
}

// ReleaseNodeClaim deletes a NodeClaim, but neither its node nor its machine. It succeeds if the
// NodeClaim is gone, and is an error while Karpenter leads.
//
// It removes Karpenter's finalizer before it deletes the NodeClaim. Otherwise, a Karpenter that
// starts in between would terminate the machine.
func (c Claims) ReleaseNodeClaim(ctx context.Context, claim cluster.NodeClaim) error {
	return retry(ctx, func(ctx context.Context) error {
		if waits := c.pools.Standby(); waits != "" {
			return fmt.Errorf("release NodeClaim %s: %s", claim.Name, waits)
		}
		if err := c.releaseNodeClaim(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("release NodeClaim %s: %w", claim.Name, err)
		}
		return nil
	})
}

func (c Claims) releaseNodeClaim(ctx context.Context, claim cluster.NodeClaim) error {
	resource := c.kind.use()
	u, err := resource.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil || string(u.GetUID()) != claim.UID {
		return err // a NodeClaim of the same name with another UID stays
	}
	if slices.Contains(u.GetFinalizers(), api.Finalizer) {
		want := slices.DeleteFunc(u.GetFinalizers(), func(f string) bool { return f == api.Finalizer })
		if u, err = setFinalizers(ctx, resource, u, want); err != nil {
			return err
		}
	}
	if u.GetDeletionTimestamp() != nil {
		return nil // it was being deleted, and Karpenter's finalizer does not keep it any more
	}
	// The resource version makes sure that Karpenter has not added its finalizer again. Objects
	// that the NodeClaim owns stay.
	version := u.GetResourceVersion()
	return resource.Delete(ctx, claim.Name, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: ptr.To(u.GetUID()), ResourceVersion: &version},
		PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan),
	})
}

// MakeNodeClaim creates a NodeClaim, writes its status, and returns its UID. If the NodeClaim
// exists without a machine, only its status is written. If it exists for another machine, that is
// an error.
func (c Claims) MakeNodeClaim(ctx context.Context, object, status map[string]any) (string, error) {
	want := &unstructured.Unstructured{Object: object}
	resource := c.dynamic.Resource(kinds.NodeClaims.WithVersion(want.GroupVersionKind().Version))
	uid := ""
	err := retry(ctx, func(ctx context.Context) error {
		there, err := resource.Create(ctx, want, metav1.CreateOptions{FieldManager: manager})
		if apierrors.IsAlreadyExists(err) {
			there, err = resource.Get(ctx, want.GetName(), metav1.GetOptions{})
		}
		if err != nil {
			return fmt.Errorf("create NodeClaim %s: %w", want.GetName(), err)
		}
		uid = string(there.GetUID())
		has, _, _ := unstructured.NestedString(there.Object, "status", "providerID")
		if has == status["providerID"] {
			return nil
		}
		if has != "" {
			return fmt.Errorf("create NodeClaim %s: it exists for %s", want.GetName(), has)
		}
		there.Object["status"] = status
		if _, err := resource.UpdateStatus(ctx, there, metav1.UpdateOptions{FieldManager: manager}); err != nil {
			return fmt.Errorf("write the status of NodeClaim %s: %w", want.GetName(), err)
		}
		return nil
	})
	return uid, err
}
