package kube

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/lease"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
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
	look := func() {
		if err := c.pools.karpenter.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	look()
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
	lead(t)
	look()
	if err := c.ReleaseNodeClaim(t.Context(), found[0]); err == nil || !strings.Contains(err.Error(), "karpenter-1") {
		t.Errorf("while Karpenter leads: %v", err)
	}
	if still, err := c.NodeClaims(t.Context()); err != nil || !slices.Equal(still, found) {
		t.Fatalf("NodeClaims: %+v, %v", still, err)
	}
	resign(t)
	c.pools.karpenter = lease.NewWatch(c.client, install.KarpenterLease) // the other one waits for another replica of Karpenter
	look()
	for _, claim := range slices.Concat(found, found) { // twice: the second time they are gone
		if err := c.ReleaseNodeClaim(t.Context(), claim); err != nil {
			t.Error(err)
		}
	}
	planetest.Eventually(t, "the NodeClaims are gone", gone("held"))
	planetest.Eventually(t, "the NodeClaim on its way out is gone", gone("leaving"))
}

// A NodeClaim is made with its status, and making it again finishes what was begun. One
// of another machine is left alone.
func TestNodeClaimsAreMade(t *testing.T) {
	definePools(t)
	made, err := New(adminConfig, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := ClaimsOf(made)
	createObject(t, nodeClaimGVR, strings.NewReplacer(`"held"`, `"made"`, `"finalizers":["karpenter.sh/termination"],`, "").Replace(aNodeClaim)) // as if the status could not be written
	object := map[string]any{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": "made"}}
	var first string
	for range 2 {
		uid, err := c.MakeNodeClaim(t.Context(), object, map[string]any{"providerID": "aws:///a/i-1", "nodeName": "one"})
		if err != nil || uid == "" || first != "" && uid != first {
			t.Fatalf("UID %q, %v", uid, err)
		}
		first = uid
	}
	found, err := c.NodeClaims(t.Context())
	found = slices.DeleteFunc(found, func(c cluster.NodeClaim) bool { return c.Name != "made" })
	if err != nil || len(found) != 1 || found[0].ProviderID != "aws:///a/i-1" || found[0].Node != "one" {
		t.Errorf("NodeClaims: %+v, %v", found, err)
	}
	if _, err := c.MakeNodeClaim(t.Context(), object, map[string]any{"providerID": "aws:///a/i-2"}); err == nil || !strings.Contains(err.Error(), "it exists for aws:///a/i-1") {
		t.Errorf("for another machine: %v", err)
	}
}
