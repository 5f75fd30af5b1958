package provider_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// somebody else's finalizer holds objects in these tests.
const foreignFinalizer = "example.com/hold"

// TestWhatIsBeingDeletedIsReplaced follows objects that somebody has deleted while
// something holds them: the plan says so and replaces them, the apply waits.
func TestWhatIsBeingDeletedIsReplaced(t *testing.T) {
	for title, c := range map[string]struct {
		typeName, order string
		kind            schema.GroupVersionResource
	}{
		"a provisioner":                  {"packhorse_provisioner", "", api.ProvisionerGVR},
		"a node profile":                 {"packhorse_node_profile", "", api.NodeTemplateGVR},
		"a provisioner, successor first": {"packhorse_provisioner", successorFirst, api.ProvisionerGVR},
	} {
		t.Run(title, func(t *testing.T) {
			const name = "leaving"
			kind := c.kind
			config := func(limit string) map[string]string {
				return map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource %q \"test\" {\n name = %q\n timeouts {\n create = %[3]q\n delete = %[3]q\n }\n%s}\n", c.typeName, name, limit, c.order)}
			}
			terraform := newCLI(t, nil)
			terraform.write(t, config("3s"))
			terraform.run(t, "init")
			terraform.run(t, "apply", "-auto-approve")
			hold(t, kind, name)
			remove(t, kind, name)
			before := object(t, kind, name).GetUID()

			out := terraform.run(t, "plan")
			wantText(t, "the plan", out, "it is being deleted since 20")
			wantText(t, "the plan", out, "Its finalizers: "+foreignFinalizer)
			wantText(t, "the plan", out, "deletion_timestamp")
			wantText(t, "the plan", out, "# forces replacement")
			out, err := terraform.try(t, "apply", "-auto-approve")
			if err == nil {
				t.Fatal("an apply has ended well while the object is held")
			}
			wantText(t, "the apply", out, foreignFinalizer)

			terraform.write(t, config("1m"))
			soon := time.AfterFunc(2*time.Second, func() { letGo(context.Background(), kind, name) })
			defer soon.Stop()
			terraform.run(t, "apply", "-auto-approve")
			if live := object(t, kind, name); live.GetUID() == before || live.GetDeletionTimestamp() != nil {
				t.Errorf("the object is not a new one: %s, deleted at %v", live.GetUID(), live.GetDeletionTimestamp())
			}
			wantNoChange(t, "the plan after the apply", terraform.plan(t))
			terraform.run(t, "destroy", "-auto-approve")
		})
	}
}

// A new resource whose name one has that is being deleted waits for it.
func TestCreateWaitsForTheOneThatLeaves(t *testing.T) {
	const name = "leaving-first"
	kind := api.NodeTemplateGVR
	apply(t, "kubectl", kind, api.NodeTemplateKind, name, "{subnetSelector: {a: b}}")
	hold(t, kind, name)
	remove(t, kind, name)
	config := func(limit string) map[string]string {
		return map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource \"packhorse_node_profile\" \"test\" {\n name = %q\n timeouts {\n create = %q\n }\n}\n", name, limit)}
	}
	terraform := newCLI(t, nil)
	terraform.write(t, config("3s"))
	terraform.run(t, "init")
	wantText(t, "the plan", terraform.run(t, "plan"), "it is being deleted since 20")
	out, err := terraform.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatal("an apply has ended well while the name is taken")
	}
	wantText(t, "the apply", out, "the existing object of this name is being deleted: it was not deleted in time, held by the finalizers "+foreignFinalizer)
	terraform.write(t, config("1m"))
	soon := time.AfterFunc(2*time.Second, func() { letGo(context.Background(), kind, name) })
	defer soon.Stop()
	terraform.run(t, "apply", "-auto-approve")
	terraform.run(t, "destroy", "-auto-approve")
}

func hold(t *testing.T, kind schema.GroupVersionResource, name string) {
	t.Helper()
	patch(t, kind, name, `{"metadata":{"finalizers":["`+foreignFinalizer+`"]}}`)
	t.Cleanup(func() { letGo(context.Background(), kind, name) })
}

// letGo takes the finalizer away, if the object is there.
func letGo(ctx context.Context, kind schema.GroupVersionResource, name string) {
	_, _ = objects.Resource(kind).Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
}
