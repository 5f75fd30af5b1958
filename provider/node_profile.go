package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// NewNodeProfile returns the resource packhorse_node_profile.
func NewNodeProfile() resource.Resource { return &customResource{kind: nodeProfile{}} }

// nodeProfile is the kind AWSNodeTemplate.
type nodeProfile struct{}

func (nodeProfile) title() string { return "node profile" }

func (nodeProfile) typeName() string { return "_node_profile" }

func (nodeProfile) object() session.Kind {
	return session.Kind{Name: api.NodeTemplateKind, Resource: api.NodeTemplateGVR}
}

func (nodeProfile) schema(ctx context.Context) schema.Schema { return nodeProfileSchema(ctx) }

func (nodeProfile) codec() wire.Codec {
	return wire.Codec{Fields: terraform.Fields, Local: []string{"name", "timeouts", forceConflicts, deletionTimestamp}}
}

func (k nodeProfile) check(name string, spec map[string]any) api.Findings {
	template, ignored, err := k.decode(name, spec)
	if err != nil {
		return api.FindingsOf(err)
	}
	found := slices.Concat(ignored, api.CheckNodeTemplate(template))
	if len(found.Errors()) == 0 {
		found = append(found, api.CheckBounds(api.NodeTemplateGVR.GroupResource().String(), spec)...)
	}
	return found
}

func (k nodeProfile) decode(name string, spec map[string]any) (*api.AWSNodeTemplate, api.Findings, error) {
	return api.NodeTemplateOf(manifestOf(k.object(), name, spec))
}

func (nodeProfile) computed(tftypes.Object, map[string]any) (map[string]tftypes.Value, error) {
	return nil, nil
}

// deleteLimit is short: nothing depends on the object, so that it goes at once
// unless somebody holds it.
func (nodeProfile) deleteLimit() time.Duration { return 2 * time.Minute }

// remove deletes the object. A finalizer on it is somebody else's and is waited for.
func (k nodeProfile) remove(ctx context.Context, r removal) error {
	if err := r.objects.Delete(ctx, r.name, r.uid, metav1.DeletePropagationBackground); err != nil {
		return err
	}
	return k.awaitGone(ctx, r)
}

func (nodeProfile) awaitGone(ctx context.Context, r removal) error {
	var finalizers []string
	var blind error // what keeps from looking
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		var live *unstructured.Unstructured
		if live, blind = r.objects.Get(ctx, r.name); gone(blind) {
			return true, nil
		}
		if blind == nil {
			finalizers = live.GetFinalizers()
		}
		return false, blind
	})
	if blind == nil && wait.Interrupted(err) {
		return fmt.Errorf("it is not gone in time, held by the finalizers %s: %w", strings.Join(finalizers, ", "), err)
	}
	return err
}
