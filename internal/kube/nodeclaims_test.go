package kube

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const aNodeClaim = `{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":{"name":"held","finalizers":["karpenter.sh/termination"],
	"labels":{"karpenter.sh/nodepool":"served"}},"spec":{"nodeClassRef":{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"served"}}}`

// A NodeClaim is released although Karpenter's finalizer holds it, also if it is on its
// way out already; but not while Karpenter leads, and not another one of its name.
func TestNodeClaimsAreReleased(t *testing.T) {
	definePools(t)
	made, err := New(adminConfig, Options{NodePools: true})
	if err != nil {
		t.Fatal(err)
	}
	c := ClaimsOf(made)
	c.pools.karpenter.look(nil, time.Now())
	gone := func(name string) func() error {
		return func() error {
			u, err := adminCustom.Resource(nodeClaimGVR).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && len(u.GetFinalizers()) == 1 && u.GetFinalizers()[0] == metav1.FinalizerOrphanDependents {
				return nil // the garbage collector, which does not run here, does the rest
			}
			return err
		}
	}
	for _, name := range []string{"held", "leaving"} {
		createObject(t, nodeClaimGVR, strings.Replace(aNodeClaim, `"held"`, `"`+name+`"`, 1))
	}
	if err := adminCustom.Resource(nodeClaimGVR).Delete(t.Context(), "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := c.NodeClaims(t.Context())
	if err != nil || len(found) != 2 || found[0].Pool != "served" {
		t.Fatalf("NodeClaims: %+v, %v", found, err)
	}
	other := found[0]
	other.UID = "another"
	if err := c.ReleaseNodeClaim(t.Context(), other); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	c.pools.karpenter.look(map[string]coordinationv1.Lease{"kube-system": leaseOf("karpenter-1", time.Now())}, time.Now())
	if err := c.ReleaseNodeClaim(t.Context(), found[0]); err == nil || !strings.Contains(err.Error(), "karpenter-1") {
		t.Errorf("while Karpenter leads: %v", err)
	}
	if still, err := c.NodeClaims(t.Context()); err != nil || !slices.Equal(still, found) {
		t.Fatalf("NodeClaims: %+v, %v", still, err)
	}
	c.pools.karpenter.look(nil, time.Now())
	for _, claim := range slices.Concat(found, found) { // twice: the second time they are gone
		if err := c.ReleaseNodeClaim(t.Context(), claim); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the NodeClaims are gone", gone("held"))
	eventually(t, "the NodeClaim on its way out is gone", gone("leaving"))
}
