package customresource

import (
	"fmt"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// ForceConflicts is the name of the attribute with which a resource takes over fields of other field
// managers.
const ForceConflicts = "force_conflicts"

// objects returns access to the objects of the kind. It forces conflicts if the resource says so, or
// else the provider block.
func (r *Resource) objects(cluster session.Cluster, m *wire.Model) session.Objects {
	force := r.Session.Config.ForceConflicts
	if own := m.Attribute(ForceConflicts); own.IsKnown() && !own.IsNull() {
		_ = own.As(&force) // fails only for other types
	}
	return cluster.Objects(r.kind.Object(), force)
}

// reportDrift warns of fields that somebody has changed in the cluster. It leaves the values to the plan, which masks those
// that are sensitive, and has them only after a refresh.
func (f *PlanCheck) reportDrift(conflicts []lifecycle.Conflict) {
	for _, c := range conflicts {
		at := f.translator.place(strings.TrimPrefix(c.Field, "."))
		f.Diags.Append(lifecycle.AttributeWarning(at.Root, fmt.Sprintf("%s %s: %s: field manager %q has changed it, and an apply changes it back", f.Title, f.Name, at.Path, c.Manager),
			"It was changed in the cluster after this resource declared it. To keep the value, which a plan with a refresh shows, set it here, or list the attribute in `lifecycle.ignore_changes`."))
	}
}
