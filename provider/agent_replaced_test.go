package provider_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A replacement that has failed is over. What comes after it is a destroy like any other, which must not leave nodes
// without an agent.
func TestAgentDestroyedAfterAFailedReplacement(t *testing.T) {
	const name = "agent-half-replaced"
	untouched := ofOthers(t, "half-replaced")
	c := installation(t, name, "")
	c.write(t, map[string]string{"main.tf": lookingAhead("") + fmt.Sprintf("resource \"packhorse_agent\" \"test\" {\n namespace = %q\n name = %[1]q\n"+
		" on_destroy = \"refuse\"\n timeouts {\n create = \"3s\"\n delete = \"15s\"\n }\n}\n", name)})
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	hold := func(ctx context.Context, finalizers string) {
		_, err := kube.AppsV1().Deployments(name).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	hold(t.Context(), `["example.com/hold"]`)
	t.Cleanup(func() { hold(context.Background(), "null") })
	said, err := c.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the replacement succeeds although the Deployment stays: %s", said)
	}
	says(t, said, "is tainted, so must be replaced", "was not deleted in time")
	addNode(t, "half-replaced", "half-replaced-1")
	if said, err = c.try(t, "destroy", "-auto-approve"); err == nil {
		t.Errorf("the destroy succeeds: %s", said)
	}
	says(t, said, "the agent has 1 node, and on_destroy is \"refuse\"", "Nothing has been deleted")
	if _, err := kube.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Errorf("the refused destroy has deleted the ClusterRole: %v", err)
	}

	if err := release(t.Context(), "half-replaced-1"); err != nil {
		t.Fatal(err)
	}
	hold(t.Context(), "null")
	c.run(t, "destroy", "-auto-approve")
	untouched()
	if _, err := kube.RbacV1().ClusterRoles().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the destroy has left the ClusterRole: %v", err)
	}
}
