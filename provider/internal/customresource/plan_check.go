package customresource

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// PlanChecker checks the effect of a change of one kind of object during a plan.
type PlanChecker interface {
	// Draft keeps a planned object, so that other objects can be checked together with it.
	Draft(d *session.Drafts, name string, spec map[string]any) session.Turn
	// CheckChange checks a change and returns the computed attributes that certainly follow from it.
	// Terraform plans again during the apply, without telling what it has planned before, and reports
	// a difference as a bug of the provider. So what may change until then stays unknown, and is
	// recorded with Drafts.SetResults for the state.
	CheckChange(context.Context, *PlanCheck) map[string]attr.Value
	// CheckRemoval checks a removal, or the half of a replacement for which Terraform asks no plan.
	CheckRemoval(context.Context, *PlanCheck)
	// Settles names the computed attributes that follow from CheckChange.
	Settles() []string
}

// PlanCheck is the check of one planned change. If it cannot reach something, that is not an error,
// but a warning about what was not checked.
type PlanCheck struct {
	lifecycle.Gaps
	Before map[string]any // spec of the state, nil for a new object
	Spec   map[string]any // as planned
	turn   session.Turn   // of the draft

	// Renamed means that the removed object is replaced by one of another name, after the removal unless
	// create_before_destroy is set, which Terraform does not tell.
	Renamed bool

	translator translator
}

// change is the planned change of one resource.
type change struct {
	state   *wire.Model // nil for a new object
	planned *wire.Model
	doc     *wire.Document // of planned
	created bool           // no resource has the name in its state
}

// checkChange checks a planned object with the catalogue and the cluster, unless nothing changes. It
// returns the plan with the computed attributes that follow from the check.
func (r *Resource) checkChange(ctx context.Context, c change, diags *diag.Diagnostics) *wire.Model {
	name := c.planned.Name()
	if r.Session == nil || name == "" {
		return c.planned
	}
	ctx = r.Session.Mask(ctx)
	var before *wire.Document
	if c.state != nil {
		if before = r.encode(c.state, diags); before == nil {
			return c.planned
		}
	}
	unchanged := before != nil && reflect.DeepEqual(before.Fields, c.doc.Fields)
	if r.Session.Config.PlanChecks == session.ChecksOff && !unchanged {
		return c.planned.Without(r.kind.Settles()...)
	}
	if r.Session.Config.PlanChecks == session.ChecksOff {
		return c.planned.Keep(c.state, r.kind.Settles()...)
	}
	f := r.PlanCheck(name, diags)
	f.turn = r.kind.Draft(&r.Session.Drafts, name, c.doc.Fields)
	f.Spec, f.translator = c.doc.Fields, translator{r.kind.Codec(), c.planned.Type(), c.doc}
	if c.created && r.taken(ctx, f, c.planned) {
		return c.planned
	}
	if unchanged {
		return c.planned.Keep(c.state, r.kind.Settles()...)
	}
	if before != nil {
		f.Before = before.Fields
	}
	planned := c.planned
	if err := r.Session.Known(); err != nil {
		f.Skip("the catalogue and the cluster", err)
	} else {
		r.dryRun(ctx, f, planned)
		planned = planned.With(ctx, r.kind.CheckChange(ctx, f))
	}
	f.Report()
	return planned
}

// reportUnknown reports that a change was not checked because a part of it is known only after apply.
func (r *Resource) reportUnknown(m *wire.Model, diags *diag.Diagnostics, doc *wire.Document) {
	if doc == nil || r.Session == nil || r.Session.Config.PlanChecks == session.ChecksOff {
		return
	}
	f := r.PlanCheck(m.Name(), diags)
	for _, field := range doc.Unknown {
		attribute := doc.Attribute(r.kind.Codec(), m.Type(), field).Path
		f.Miss("the catalogue and the cluster", attribute+" is known only after apply")
	}
	f.Report()
}

// settled returns the state of an object after an apply. Computed attributes that the plan has left unknown
// are those of the last check, which the apply has made, or null.
func (r *Resource) settled(ctx context.Context, m *wire.Model) *wire.Model {
	unknown := slices.DeleteFunc(r.kind.Settles(), func(name string) bool { return m.Attribute(name).IsFullyKnown() })
	if len(unknown) == 0 {
		return m
	}
	return m.Without(unknown...).With(ctx, r.Session.Drafts.Results(m.Name()))
}

// checkRemoval checks the removal of an object, and of one that the successor replaces, which may be nil.
func (r *Resource) checkRemoval(ctx context.Context, state, successor *wire.Model, diags *diag.Diagnostics) {
	if r.Session == nil || r.Session.Config.PlanChecks == session.ChecksOff {
		return
	}
	f := r.PlanCheck(state.Name(), diags)
	f.Renamed = successor != nil
	r.kind.CheckRemoval(r.Session.Mask(ctx), f)
}

// PlanCheck begins the checks of a plan for the object of the name.
func (r *Resource) PlanCheck(name string, diags *diag.Diagnostics) *PlanCheck {
	return &PlanCheck{Gaps: lifecycle.Gaps{Session: r.Session, Title: r.kind.Title(), Name: name, Diags: diags}}
}

// Skip is Gaps.Skip, except that a cluster that does not exist may be one that the same apply creates before the
// object. Its name is often known to the plan: that of terraform-aws-modules/eks is the one of its configuration.
func (f *PlanCheck) Skip(what string, err error) {
	switch {
	case !errors.Is(err, session.ErrMissingCluster):
		f.Gaps.Skip(what, err)
	case f.Before == nil:
		f.Miss(what, err.Error()+", so that the apply fails unless it creates the cluster first")
	default:
		f.Miss(what, err.Error()+", so that the apply cannot change the object, and if the cluster is created again, the next plan creates the object again")
	}
}

// taken reports whether an object that the resource would create already exists. It ignores errors,
// because the checks that follow report them.
func (r *Resource) taken(ctx context.Context, f *PlanCheck, planned *wire.Model) bool {
	cluster, err := f.Session.Cluster(ctx)
	if err != nil {
		return false
	}
	live, err := r.objects(cluster, planned).Recall(ctx, f.Name)
	switch {
	case err != nil:
		return false
	case live.GetDeletionTimestamp() != nil:
		r.reportDeletion(ctx, cluster, live, f.Diags)
		return false
	}
	f.Diags.Append(lifecycle.ExistsAlready(f.Title+" "+f.Name, f.Name))
	return true
}

// dryRun lets the API server validate the object.
func (r *Resource) dryRun(ctx context.Context, f *PlanCheck, planned *wire.Model) {
	const check = "the rules of the cluster"
	cluster, err := f.Session.Cluster(ctx)
	if err != nil {
		f.Skip(check, err)
		return
	}
	objects := r.objects(cluster, planned)
	err = objects.Check(ctx, f.Name, f.Spec)
	drift, foreign := lifecycle.Split(lifecycle.ConflictsOf(err), f.Before)
	f.reportDrift(drift)
	if len(drift) > 0 && len(foreign) == 0 {
		err = cluster.Objects(r.kind.Object(), true).Check(ctx, f.Name, f.Spec)
	}
	switch {
	case err == nil:
	case len(foreign) > 0:
		f.Diags.Append(lifecycle.ExplainConflicts(foreign, f.Title, f.Name))
	case meta.IsNoMatchError(err):
		// packhorse_agent may be about to install the kind. Its rules are those of this
		// provider, which have been checked already.
	case lifecycle.Refused(err):
		f.Diags.Append(lifecycle.ExplainError(err, f.Title, f.Name))
	default:
		f.Skip(check, err)
	}
}

// ReportFindings adds findings to the diagnostics of the plan. The detail is added to each.
func (f *PlanCheck) ReportFindings(findings finding.List, detail string) {
	for _, found := range findings {
		root, summary, advice := f.translator.spell(found)
		summary, advice = fmt.Sprintf("%s %s: %s", f.Title, f.Name, summary), strings.TrimSpace(advice+" "+detail)
		if found.Severity == finding.Error || f.Session.Config.PlanChecks == session.ChecksError {
			f.Diags.Append(lifecycle.AttributeError(root, summary, advice))
		} else {
			f.Diags.Append(lifecycle.AttributeWarning(root, summary, advice))
		}
	}
}

// Replaced returns the nodes that the change replaces. It does not include nodes that changes which
// were planned before it replace anyway, so that each node is counted once.
func (f *PlanCheck) Replaced(ctx context.Context, live *cluster.Survey, stock *session.Stock) plancheck.Replacement {
	if f.Before == nil {
		return nil
	}
	now := time.Now() // the same for both, so that only the change makes a difference
	upTo := func(turn session.Turn) simulate.Cluster {
		survey := &cluster.Survey{
			Snapshot: live.Snapshot, Rejected: live.Rejected,
			Provisioners:  session.Drafted(&f.Session.Drafts, live.Provisioners, turn),
			NodeTemplates: session.Drafted(&f.Session.Drafts, live.NodeTemplates, turn),
		}
		return simulate.Cluster{Survey: survey, Market: stock.Market, Now: now, Settings: decide.DefaultSettings()}
	}
	return plancheck.Replaced(ctx, upTo(f.turn-1), upTo(f.turn))
}
