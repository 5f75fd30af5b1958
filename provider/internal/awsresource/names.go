package awsresource

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// CheckNames reports planned names that other resources of the configuration declare too, and names
// that are taken in AWS by something that is in no resource's state.
func (r *Named) CheckNames(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	for _, n := range r.Names {
		name := lifecycle.Text(ctx, resp.Plan.GetAttribute, n.Attribute)
		created := lifecycle.Claim(ctx, r.Session, n, req, name, &resp.Diagnostics)
		if !created || r.Session.Config.PlanChecks == session.ChecksOff {
			continue
		}
		taken, err := r.lookUp(ctx, n, name, resp.Plan)
		switch {
		case errors.Is(err, session.ErrWrongAccess):
			lifecycle.ReportOnce(r.Session, lifecycle.NoAWS, err, &resp.Diagnostics)
		case err != nil:
			f := &lifecycle.Gaps{Session: r.Session, Title: n.Title, Name: name, Diags: &resp.Diagnostics}
			f.Skip("whether the name is taken", err)
			f.Report()
		case taken != nil:
			resp.Diagnostics.Append(taken)
		}
	}
}

func (r *Named) lookUp(ctx context.Context, n lifecycle.Naming, name string, plan tfsdk.Plan) (diag.Diagnostic, error) {
	account, err := r.Session.Account(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, PlanLookup)
	defer cancel()
	return n.LookUp(ctx, account, name, plan)
}

// Existing turns the result of a read into that of a Naming.LookUp: a diagnostic if something exists,
// and nil if err is fs.ErrNotExist.
func Existing(title, name string, err error) (diag.Diagnostic, error) {
	switch {
	case err == nil:
		return lifecycle.ExistsAlready(title+" "+name, name), nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	}
	return nil, err
}

// RoleName returns the naming of an IAM role by the attribute name.
func RoleName() lifecycle.Naming {
	const title = "IAM role"
	return lifecycle.Naming{Attribute: "name", Title: title, LookUp: func(ctx context.Context, account *session.Account, name string, _ tfsdk.Plan) (diag.Diagnostic, error) {
		_, _, err := account.Roles.Read(ctx, name)
		return Existing(title, name, err)
	}}
}
