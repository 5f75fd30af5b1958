package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-log/tflog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/terraform"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

const effectiveRequirements = "effective_requirements"

// NewProvisioner returns the resource packhorse_provisioner.
func NewProvisioner() resource.Resource { return &customResource{kind: provisioner{}} }

// provisioner is the kind Provisioner.
type provisioner struct{}

func (provisioner) title() string { return "provisioner" }

func (provisioner) typeName() string { return "_provisioner" }

func (provisioner) object() session.Kind {
	return session.Kind{Name: api.ProvisionerKind, Resource: api.ProvisionerGVR}
}

func (provisioner) schema(ctx context.Context) schema.Schema { return provisionerSchema(ctx) }

func (provisioner) codec() wire.Codec {
	return wire.Codec{Fields: terraform.Fields, Local: []string{"name", "timeouts", forceConflicts, deletionTimestamp, effectiveRequirements, planPreview}}
}

func (k provisioner) check(name string, spec map[string]any) api.Findings {
	p, ignored, err := k.decode(name, spec)
	if err != nil {
		return api.FindingsOf(err)
	}
	found := slices.Concat(ignored, api.CheckProvisioner(p))
	if len(found.Errors()) == 0 {
		found = append(found, api.CheckBounds(api.ProvisionerGVR.GroupResource().String(), spec)...)
	}
	return found
}

func (k provisioner) decode(name string, spec map[string]any) (*api.Provisioner, api.Findings, error) {
	return api.ProvisionerOf(manifestOf(k.object(), name, spec))
}

func (k provisioner) computed(typ tftypes.Object, spec map[string]any) (map[string]tftypes.Value, error) {
	p, _, err := k.decode(unnamed, spec)
	if err != nil {
		return nil, err
	}
	var out []tftypes.Value
	for _, r := range p.Defaulted().EffectiveRequirements() {
		out = append(out, tftypes.NewValue(tftypes.String, r.Selector()))
	}
	return map[string]tftypes.Value{effectiveRequirements: tftypes.NewValue(typ.AttributeTypes[effectiveRequirements], out)}, nil
}

// deleteLimit leaves the nodes time to drain.
func (provisioner) deleteLimit() time.Duration { return 20 * time.Minute }

// errNoAgent says that nobody would drain the nodes.
var errNoAgent = errors.New("no agent is running that could drain them")

// remove drains the provisioner's nodes by deleting the object that owns them,
// and waits for both to be gone. Finalizers are left to the agent.
func (k provisioner) remove(ctx context.Context, r removal) error {
	watch := r.cluster.Teardown()
	nodes, err := watch.Nodes(ctx, r.name)
	if err != nil {
		return err
	}
	if len(nodes) > 0 {
		alive, err := watch.AgentAlive(ctx, time.Now())
		if err != nil {
			return err
		}
		if !alive {
			return fmt.Errorf("it has %d nodes and %w\nNo agent has renewed its Lease in time. Nothing has been deleted: "+
				"start the agent, or delete the nodes yourself, and destroy again", len(nodes), errNoAgent)
		}
	}
	// Foreground: the object stays until the nodes that it owns are gone, which
	// the garbage collector asks to go. It takes its time to learn of a kind, so
	// that without nodes there is no reason to wait for it.
	propagation := metav1.DeletePropagationBackground
	if len(nodes) > 0 {
		propagation = metav1.DeletePropagationForeground
	}
	if err := r.objects.Delete(ctx, r.name, r.uid, propagation); err != nil {
		return err
	}
	return k.awaitGone(ctx, r)
}

func (provisioner) awaitGone(ctx context.Context, r removal) error {
	return r.cluster.Teardown().Wait(ctx, r.name, func(remaining []string) {
		tflog.Info(ctx, "waited for the provisioner's nodes to drain", map[string]any{
			"provisioner": r.name, "remaining": len(remaining), "nodes": strings.Join(remaining, ","),
		})
	})
}
