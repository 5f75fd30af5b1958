package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// foreseer looks ahead at what a change of one kind of object will do.
type foreseer interface {
	// draft keeps a planned object, so that others can be judged together with it.
	draft(d *session.Drafts, name string, spec map[string]any) session.Turn
	// foresee judges a change and returns the computed attributes that it settles.
	foresee(context.Context, *foresight) map[string]tftypes.Value
	// foreseeRemoval judges a removal.
	foreseeRemoval(context.Context, *foresight)
	// forgo returns the computed attributes where nothing is looked at.
	forgo(context.Context) map[string]tftypes.Value
}

// foresight is one look ahead. What cannot be reached is no error: what was not
// checked is told.
type foresight struct {
	session *session.Session
	title   string
	name    string
	before  map[string]any // spec of the state, nil for a new object
	spec    map[string]any // as planned
	turn    session.Turn   // of the draft

	translator translator
	diags      *diag.Diagnostics
	unchecked  []gap
	blind      bool // the access is wrong, which says more than what was not checked
}

// gap is what was not checked, and why.
type gap struct{ what, why string }

// lookAhead judges a planned object with the catalogue and the cluster, if there
// is something to change.
func (r *customResource) lookAhead(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, doc *wire.Document, created bool) {
	name := nameOf(req.Plan.Raw)
	if r.session == nil || name == "" {
		return
	}
	ctx = r.session.Mask(ctx)
	if r.session.Config.PlanChecks == session.ChecksOff {
		resp.Plan.Raw = withAttributes(resp.Plan.Raw, r.kind.forgo(ctx))
		return
	}
	f := r.foresight(name, &resp.Diagnostics)
	f.turn = r.kind.draft(&r.session.Drafts, name, doc.Fields)
	f.spec, f.translator = doc.Fields, translator{r.kind.codec(), objectType(req.Plan.Raw), doc}
	if created && r.taken(ctx, f, req.Plan.Raw) {
		return
	}
	if !req.State.Raw.IsNull() {
		before := r.encode(req.State.Raw, &resp.Diagnostics)
		if before == nil {
			return
		}
		if reflect.DeepEqual(before.Fields, doc.Fields) {
			settled := r.kind.forgo(ctx)
			for attribute := range settled {
				settled[attribute] = attributesOf(req.State.Raw, nil)[attribute]
			}
			resp.Plan.Raw = withAttributes(resp.Plan.Raw, settled)
			return
		}
		f.before = before.Fields
	}
	if err := r.session.Known(); err != nil {
		f.skip("the catalogue and the cluster", err)
	} else {
		r.tryOut(ctx, f, req.Plan.Raw)
		resp.Plan.Raw = withAttributes(resp.Plan.Raw, r.kind.foresee(ctx, f))
	}
	f.tellUnchecked()
}

// tellUnknown says that a change was not judged, since a part of it is known only
// after apply. What is computed depends on it too.
func (r *customResource) tellUnknown(req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, doc *wire.Document) {
	if doc == nil || r.session == nil || r.session.Config.PlanChecks == session.ChecksOff {
		return
	}
	f := r.foresight(nameOf(req.Plan.Raw), &resp.Diagnostics)
	for _, field := range doc.Unknown {
		_, attribute := doc.Attribute(r.kind.codec(), objectType(req.Plan.Raw), field)
		f.unchecked = append(f.unchecked, gap{"the catalogue and the cluster", attribute + " is known only after apply"})
	}
	f.tellUnchecked()
}

// settled returns an object after it was applied: what a look ahead has left open
// is null, and numbers within are those of the last look.
func (r *customResource) settled(ctx context.Context, name string, v tftypes.Value) tftypes.Value {
	settled := r.kind.forgo(ctx)
	for attribute, null := range settled {
		value := attributesOf(v, nil)[attribute]
		if !value.IsKnown() {
			settled[attribute] = null
			continue
		}
		known, err := tftypes.Transform(value, func(_ *tftypes.AttributePath, inner tftypes.Value) (tftypes.Value, error) {
			if inner.IsKnown() {
				return inner, nil
			}
			return tftypes.NewValue(inner.Type(), r.session.Drafts.Replaced(name)), nil
		})
		if err != nil {
			known = null
		}
		settled[attribute] = known
	}
	return withAttributes(v, settled)
}

// lookAtRemoval judges the removal of an object.
func (r *customResource) lookAtRemoval(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.session == nil || r.session.Config.PlanChecks == session.ChecksOff || r.session.Known() != nil {
		return
	}
	name := nameOf(req.State.Raw)
	r.kind.foreseeRemoval(r.session.Mask(ctx), r.foresight(name, &resp.Diagnostics))
}

func (r *customResource) foresight(name string, diags *diag.Diagnostics) *foresight {
	return &foresight{session: r.session, title: r.kind.title(), name: name, diags: diags}
}

// taken reports whether an object that the resource would create is there already. An
// access that does not work is told by the checks that follow.
func (r *customResource) taken(ctx context.Context, f *foresight, planned tftypes.Value) bool {
	cluster, err := f.session.Cluster(ctx)
	if err != nil {
		return false
	}
	live, err := r.objects(cluster, planned).Recall(ctx, f.name)
	switch {
	case err != nil:
		return false
	case live.GetDeletionTimestamp() != nil:
		r.tellLeaving(ctx, cluster, live, f.diags)
		return false
	}
	f.diags.Append(existsAlready(f.title+" "+f.name, f.name))
	return true
}

// tryOut lets the API server judge the object.
func (r *customResource) tryOut(ctx context.Context, f *foresight, planned tftypes.Value) {
	const check = "the rules of the cluster"
	cluster, err := f.session.Cluster(ctx)
	if err != nil {
		f.skip(check, err)
		return
	}
	objects := r.objects(cluster, planned)
	err = objects.Check(ctx, f.name, f.spec)
	if conflicts := conflictsOf(err); len(conflicts) > 0 && f.before != nil && len(foreign(conflicts, f.before)) == 0 {
		f.tellDrift(conflicts)
		err = cluster.Forced(r.kind.object()).Check(ctx, f.name, f.spec)
	}
	switch {
	case err == nil:
	case meta.IsNoMatchError(err):
		// The rules come with the kind, which packhorse_agent may be about to
		// install; they are this provider's own, and have been checked.
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsConflict(err):
		f.diags.Append(explainError(err, f.title, f.name))
	default:
		f.skip(check, err)
	}
}

// skip notes what was not checked. An access that is wrong is an error instead, which
// is told once.
func (f *foresight) skip(what string, err error) {
	if errors.Is(err, session.ErrWrongAccess) {
		f.blind = true
		tellOnce(f.session, noCluster, err, f.diags)
		return
	}
	f.unchecked = append(f.unchecked, gap{what, strings.ReplaceAll(err.Error(), "\n", "; ")})
}

func (f *foresight) tellUnchecked() {
	if len(f.unchecked) == 0 || f.blind {
		return
	}
	var lines []string
	for len(f.unchecked) > 0 {
		why := f.unchecked[0].why
		var same []string
		f.unchecked = slices.DeleteFunc(f.unchecked, func(g gap) bool {
			if g.why == why && !slices.Contains(same, g.what) {
				same = append(same, g.what)
			}
			return g.why == why
		})
		lines = append(lines, fmt.Sprintf("Not checked: %s: %s.", strings.Join(same, ", "), why))
	}
	f.diags.AddWarning(fmt.Sprintf("%s %s was not checked in full", f.title, f.name),
		strings.Join(lines, "\n")+"\n`plan_checks = \"off\"` in the provider block leaves these checks out.")
}

// tell reports findings. Detail is added to each.
func (f *foresight) tell(findings []plancheck.Finding, detail string) {
	for _, found := range findings {
		severity := diag.SeverityWarning
		if found.Severity == plancheck.Broken || f.session.Config.PlanChecks == session.ChecksError {
			severity = diag.SeverityError
		}
		advice := strings.TrimSpace(found.Advice + " " + detail)
		text := fmt.Sprintf("%s %s: %s", f.title, f.name, found.Text)
		root, hcl := "", ""
		if found.Path != "" {
			root, hcl = f.translator.doc.Attribute(f.translator.codec, f.translator.typ, strings.TrimPrefix(found.Path, "spec."))
		}
		if hcl != "" {
			text = fmt.Sprintf("%s %s: %s: %s", f.title, f.name, hcl, found.Text)
		}
		if severity == diag.SeverityError {
			f.diags.Append(attributeError(root, text, advice))
		} else {
			f.diags.Append(attributeWarning(root, text, advice))
		}
	}
}
