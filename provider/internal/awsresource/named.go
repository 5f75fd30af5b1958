// Package awsresource contains what the resources in AWS have in common: access to the account,
// checks for names that are taken, roles, tags and errors.
package awsresource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Named is embedded in resources in AWS that are identified by a name.
type Named struct {
	lifecycle.Base
	Names  []lifecycle.Naming // its own name, and those of what belongs to it
	Origin string             // the resource type of hashicorp/aws from which a state can be moved
}

// Namings implements [lifecycle.Claimant].
func (r *Named) Namings() []lifecycle.Naming { return r.Names }

// Change creates, updates or deletes something in AWS within the time limit, and reports an error about the object
// of the name, whose ARN is that of the state. If diags has errors, it changes nothing.
func (r *Named) Change(ctx context.Context, name, arn types.String, limit lifecycle.OperationLimit, diags *diag.Diagnostics, change func(context.Context, *session.Account) error) {
	ctx, cancel := lifecycle.WithLimit(r.Session.Mask(ctx), limit, 0, diags)
	defer cancel()
	account := r.Account(ctx, diags)
	if !diags.HasError() {
		diags.Append(r.elsewhere(arn, account)...)
	}
	if diags.HasError() {
		return
	}
	if err := change(ctx, account); err != nil {
		diags.Append(r.Error(name.ValueString(), err))
	}
}

// elsewhere returns an error if the ARN of the state is in another account than that of the provider block: what has
// the same name there is not this object.
func (r *Named) elsewhere(arn types.String, account *session.Account) (diags diag.Diagnostics) {
	recorded := AccountOf(arn)
	if recorded == nil {
		return nil
	}
	for _, place := range []struct{ kind, recorded, current string }{
		{"partition", recorded.Partition, account.Partition}, {"account", recorded.ID, account.ID}, {"region", recorded.Region, account.Region},
	} {
		if place.recorded != "" && place.recorded != place.current { // IAM has no regions
			diags.AddError(fmt.Sprintf("%s is in %s %s, but the provider block leads to %s", r.title(asset.NameIn(arn.ValueString())), place.kind, place.recorded, place.current),
				lifecycle.NothingChanged+" Correct the credentials or the region of the provider block. To remove the object from the state without deleting it, use `terraform state rm`.")
			return diags
		}
	}
	return nil
}

// Account returns the AWS account. If it cannot be reached, Account adds an error and returns nil.
func (r *Named) Account(ctx context.Context, diags *diag.Diagnostics) *session.Account {
	account, err := r.Session.Account(ctx)
	if err != nil {
		diags.AddError(lifecycle.NoAWS+": "+err.Error(), lifecycle.NothingChanged)
	}
	return account
}

// AccountOf returns the account of what exists, as its ARN names it, or nil if the ARN is not known. It makes no
// request: Terraform plans again during the apply, and takes it for a bug if that does not predict the same, for
// example because AWS cannot be reached any more.
func AccountOf(arn types.String) *session.Account {
	parts := strings.Split(arn.ValueString(), ":")
	if len(parts) < 6 {
		return nil
	}
	return &session.Account{Partition: parts[1], Region: parts[3], ID: parts[4]}
}

// Imported reports whether the resource has just been imported or moved, so that its state must take over
// everything that exists. Then the state has no ARN yet. Private state does not tell: Terraform plans the
// replacement of a tainted resource without it, and if the deletion fails, the state is left without it too.
func Imported(arn types.String) bool { return arn.IsNull() }

// title returns what messages call the object of the name.
func (r *Named) title(name string) string { return r.Names[0].Title + " " + name }

// Error returns the diagnostic of an error about the object of the name. If the name is taken, it says how to
// import the object.
func (r *Named) Error(name string, err error) diag.Diagnostic {
	if errors.Is(err, fs.ErrExist) {
		return lifecycle.ExistsAlready(r.title(name), name)
	}
	summary, detail := lifecycle.Summarise(r.title(name) + ": " + err.Error())
	return diag.NewErrorDiagnostic(summary, strings.TrimSpace(detail+"\n"+lifecycle.Unanswered(err)))
}

// Refresh sets the identity and refreshes the state of something in AWS, and reports an error about the object of
// the name, whose ARN is that of the state. Without access to AWS, the state stays as it is.
func (r *Named) Refresh(ctx context.Context, name string, arn types.String, resp *resource.ReadResponse, refresh func(context.Context, *session.Account) error) {
	ctx = r.Session.Mask(ctx)
	lifecycle.SetName(ctx, resp.Identity, name, &resp.Diagnostics)
	if err := r.Session.Known(); err != nil {
		resp.Diagnostics.Append(lifecycle.NotRefreshed(r.title(name), err))
		return
	}
	account, err := r.Session.Account(ctx)
	if err != nil {
		lifecycle.ReportOnce(r.Session, lifecycle.NoAWS, err, &resp.Diagnostics)
	} else if elsewhere := r.elsewhere(arn, account); elsewhere.HasError() {
		resp.Diagnostics.Append(elsewhere...)
	} else if err := refresh(ctx, account); err != nil {
		resp.Diagnostics.Append(r.Error(name, err))
	}
}

// NoCluster returns the error of a plan that needs the name of a cluster. It is a warning for an object that exists if the
// name in the provider block is empty: Terraform plans so before a destroy, during which a reference to the cluster may have
// no value.
func (r *Named) NoCluster(req resource.ModifyPlanRequest, attribute, summary, detail string) diag.Diagnostic {
	if r.Session.Config.EmptyName && !req.State.Raw.IsNull() {
		return lifecycle.AttributeWarning(attribute, summary, detail)
	}
	return lifecycle.AttributeError(attribute, summary, detail)
}

// Planned reports whether ModifyPlan has something to do: the plan does not destroy the resource,
// and the provider block is known.
func (r *Named) Planned(req resource.ModifyPlanRequest) bool {
	return !req.Plan.Raw.IsNull() && r.Session != nil && r.Session.Known() == nil
}
