// Package provisioner is the resource packhorse_provisioner.
package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// EffectiveRequirements is the name of the computed attribute with all requirements as label selectors.
const EffectiveRequirements = "effective_requirements"

// New returns the resource packhorse_provisioner.
func New() resource.Resource { return customresource.New(Kind{}) }

// NewList returns the list resource of the provisioners of the cluster.
func NewList() list.ListResource { return customresource.NewList(Kind{}) }

// Kind is the customresource.Kind of Provisioners.
type Kind struct{}

// Title implements [customresource.Kind].
func (Kind) Title() string { return "provisioner" }

// TypeName implements [customresource.Kind].
func (Kind) TypeName() string { return "_provisioner" }

// Object implements [customresource.Kind].
func (Kind) Object() api.CustomKind {
	return api.CustomKind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}
}

// Codec implements [customresource.Kind].
func (Kind) Codec() wire.Codec {
	return wire.Codec{Fields: terraform.Fields, Local: []string{"name", "timeouts", customresource.ForceConflicts, customresource.DeletionTimestamp, EffectiveRequirements, planPreview}}
}

// Check implements [customresource.Kind].
func (k Kind) Check(name string, spec map[string]any) finding.List {
	return customresource.Check(k.Object(), name, spec, api.ProvisionerOf, validate.Provisioner)
}

func (k Kind) decode(name string, spec map[string]any) (*api.Provisioner, finding.List, error) {
	return api.ProvisionerOf(customresource.ManifestOf(k.Object(), name, spec))
}

// Computed implements [customresource.Kind].
func (k Kind) Computed(spec map[string]any) (map[string]attr.Value, error) {
	p, _, err := k.decode(lifecycle.Unnamed, spec)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range p.Defaulted().EffectiveRequirements() {
		out = append(out, r.Selector())
	}
	return map[string]attr.Value{EffectiveRequirements: value.List(out)}, nil
}

// DeleteLimit allows for draining the nodes.
func (Kind) DeleteLimit() time.Duration { return 20 * time.Minute }

// Remove deletes the provisioner, upon which the agent drains its nodes, and waits until both are gone. The agent
// removes the finalizers. It keeps that of a provisioner without nodes until no instance of it runs, so that
// nobody else may remove it.
func (k Kind) Remove(ctx context.Context, r customresource.Removal) error {
	watch := r.Cluster.Teardown()
	nodes, err := watch.Nodes(ctx, r.Name)
	if err != nil {
		return err
	}
	if held := slices.Contains(r.Finalizers, api.Finalizer); held || len(nodes) > 0 {
		alive, err := watch.AgentAlive(ctx, time.Now())
		if err != nil {
			return err
		}
		if !alive {
			return unattended(len(nodes))
		}
	}
	// With foreground propagation, the object exists until the garbage collector has deleted the
	// nodes that it owns. The garbage collector takes some time to discover a new kind, so that
	// background propagation is faster if there are no nodes.
	propagation := metav1.DeletePropagationBackground
	if len(nodes) > 0 {
		propagation = metav1.DeletePropagationForeground
	}
	if err := r.Objects.Delete(ctx, r.Name, r.Uid, propagation); err != nil {
		return err
	}
	return k.AwaitGone(ctx, r)
}

// unattended returns an error that says what needs an agent, and the way out.
func unattended(nodes int) error {
	needed := fmt.Errorf("it has nodes (%d), and %w", nodes, install.ErrNoAgent)
	if nodes == 0 {
		needed = fmt.Errorf("it has the finalizer %s, and no agent is running that could say whether instances of it are left", api.Finalizer)
	}
	return fmt.Errorf("%w\nNo agent has renewed its Lease in time. Nothing has been deleted: start the agent and destroy again. "+
		"If it will not come back, set `on_destroy = \"orphan\"` in packhorse_agent, replace the blocks of this resource and of its packhorse_node_role by `removed` blocks with `destroy = false`, "+
		"apply, and then destroy: machines that are left continue to run", needed)
}

// AwaitGone implements [customresource.Kind].
func (Kind) AwaitGone(ctx context.Context, r customresource.Removal) error {
	return r.Cluster.Teardown().Wait(ctx, r.Name, func(remaining []string) {
		tflog.Info(ctx, "waited for the provisioner's nodes to drain", map[string]any{
			"provisioner": r.Name, "remaining": len(remaining), "nodes": strings.Join(remaining, ","),
		})
	})
}
