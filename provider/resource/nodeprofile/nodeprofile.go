// Package nodeprofile is the resource packhorse_node_profile.
package nodeprofile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// New returns the resource packhorse_node_profile.
func New() resource.Resource { return customresource.New(Kind{}) }

// NewList returns the list resource of the node profiles of the cluster.
func NewList() list.ListResource { return customresource.NewList(Kind{}) }

// Kind is the customresource.Kind of AWSNodeTemplates.
type Kind struct{}

// Title implements [customresource.Kind].
func (Kind) Title() string { return "node profile" }

// TypeName implements [customresource.Kind].
func (Kind) TypeName() string { return "_node_profile" }

// Object implements [customresource.Kind].
func (Kind) Object() api.CustomKind {
	return api.CustomKind{Name: api.NodeTemplateKind, Resource: api.NodeTemplateGVR}
}

// Codec implements [customresource.Kind].
func (Kind) Codec() wire.Codec {
	return wire.Codec{Fields: terraform.Fields, Local: []string{"name", "timeouts", customresource.ForceConflicts, customresource.DeletionTimestamp}}
}

// Check implements [customresource.Kind].
func (k Kind) Check(name string, spec map[string]any) finding.List {
	return customresource.Check(k.Object(), name, spec, api.NodeTemplateOf, validate.NodeTemplate)
}

// Computed implements [customresource.Kind].
func (Kind) Computed(map[string]any) (map[string]attr.Value, error) {
	return nil, nil
}

// DeleteLimit is short, because nothing depends on the object. It is deleted at once unless it has a
// finalizer.
func (Kind) DeleteLimit() time.Duration { return 2 * time.Minute }

// Remove deletes the object and waits until it is gone.
func (k Kind) Remove(ctx context.Context, r customresource.Removal) error {
	if err := r.Objects.Delete(ctx, r.Name, r.Uid, metav1.DeletePropagationBackground); err != nil {
		return err
	}
	return k.AwaitGone(ctx, r)
}

// AwaitGone implements [customresource.Kind].
func (Kind) AwaitGone(ctx context.Context, r customresource.Removal) error {
	var seen *unstructured.Unstructured // when it was last read
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		live, err := r.Objects.Get(ctx, r.Name)
		if lifecycle.Gone(err) {
			return true, nil
		}
		if err == nil {
			seen = live
		}
		return false, err
	})
	// The time limit may have passed during a request.
	if err != nil && ctx.Err() != nil && seen != nil {
		return fmt.Errorf("it was not deleted in time, held by the finalizers %s: %w", strings.Join(seen.GetFinalizers(), ", "), err)
	}
	return err
}
