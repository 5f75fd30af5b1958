package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// forceConflicts is the attribute that takes fields away from other managers.
const forceConflicts = "force_conflicts"

func forceAttribute() schema.BoolAttribute {
	return schema.BoolAttribute{
		Optional: true,
		MarkdownDescription: "Whether to take over fields that other field managers have set. By default `force_conflicts` of " +
			"the provider block. It is not needed to restore a field that this resource set before.",
	}
}

// objects are those of the kind, declared as the resource wants conflicts to be met.
func (r *customResource) objects(cluster session.Cluster, resource tftypes.Value) session.Objects {
	force := r.session.Config.Manager.Force
	if own := attributesOf(resource, nil)[forceConflicts]; own.IsKnown() && !own.IsNull() {
		_ = own.As(&force) // which fails for other types only
	}
	if force {
		return cluster.Forced(r.kind.object())
	}
	return cluster.Objects(r.kind.object())
}

// conflict is a field that another field manager has declared.
type conflict struct{ field, manager string }

func (c conflict) String() string { return fmt.Sprintf("%s belongs to %q", c.field, c.manager) }

// conflictsOf lists the fields that other field managers have declared.
func conflictsOf(err error) []conflict {
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []conflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := cause.Message
		if m := managerName.FindStringSubmatch(cause.Message); m != nil {
			manager = m[1]
		}
		out = append(out, conflict{cause.Field, manager})
	}
	return out
}

// value is what a spec has in the conflicting field.
func (c conflict) value(spec map[string]any) (any, bool) {
	return lookup(spec, strings.TrimPrefix(c.field, ".spec"))
}

// lookup follows a path such as .labels.example.com/team, whose names may have dots.
func lookup(fields map[string]any, path string) (any, bool) {
	for name, value := range fields {
		rest, ok := strings.CutPrefix(path, "."+name)
		switch {
		case !ok:
		case rest == "":
			return value, true
		default:
			if inner, isMap := value.(map[string]any); isMap {
				if found, ok := lookup(inner, rest); ok {
					return found, true
				}
			}
		}
	}
	return nil, false
}

// foreign are the conflicts about fields that the resource has not declared before.
// The others are drift: somebody has changed what it declares.
func foreign(conflicts []conflict, before map[string]any) []conflict {
	return slices.DeleteFunc(slices.Clone(conflicts), func(c conflict) bool { _, ours := c.value(before); return ours })
}

// foreseen reports whether the plan has shown that all conflicting fields are changed:
// they are in the cluster as the state has them.
func foreseen(conflicts []conflict, before, live map[string]any) bool {
	return len(conflicts) > 0 && !slices.ContainsFunc(conflicts, func(c conflict) bool {
		was, ours := c.value(before)
		is, there := c.value(live)
		return !ours || !there || !reflect.DeepEqual(was, is)
	})
}

// tellDrift warns of fields that somebody has changed in the cluster, with both values.
func (f *foresight) tellDrift(conflicts []conflict) {
	for _, c := range conflicts {
		was, _ := c.value(f.before)
		now, _ := c.value(f.spec)
		root, hcl := f.translator.doc.Attribute(f.translator.codec, f.translator.typ, strings.TrimPrefix(c.field, ".spec."))
		f.diags.Append(attributeWarning(root, fmt.Sprintf("%s %s: %s: %q has set it to %s; apply makes it %s", f.title, f.name, hcl, c.manager, spelt(was), spelt(now)),
			"Somebody has changed it in the cluster since it was declared here. To keep their value, write it here, or list the attribute in `lifecycle.ignore_changes`."))
	}
}

// spelt is a value as JSON.
func spelt(value any) string {
	if value == nil {
		return "nothing"
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
