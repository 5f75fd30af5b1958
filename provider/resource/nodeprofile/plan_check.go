package nodeprofile

import (
	"context"
	"errors"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Draft implements [customresource.Kind].
func (k Kind) Draft(d *session.Drafts, name string, spec map[string]any) session.Turn {
	template, _, err := api.NodeTemplateOf(customresource.ManifestOf(k.Object(), name, spec))
	if err != nil {
		return d.All()
	}
	return session.Draft(d, template)
}

// Settles implements [customresource.Kind].
func (Kind) Settles() []string { return nil }

// CheckChange reports a missing instance profile, and the nodes that the change replaces.
func (Kind) CheckChange(ctx context.Context, f *customresource.PlanCheck) map[string]attr.Value {
	lookForInstanceProfile(ctx, f)
	if f.Before == nil {
		return nil
	}
	live, err := f.Session.Survey(ctx)
	if err != nil {
		f.Skip("nodes that were built from it", err)
		return nil
	}
	stock, err := f.Session.Stock(ctx)
	if err != nil {
		f.Skip("nodes that were built from it", err)
		return nil
	}
	f.ReportFindings(f.Replaced(ctx, live, stock).Findings(), "")
	return nil
}

// lookForInstanceProfile warns of an instance profile that neither exists nor is planned. Without a cluster
// name, there may be no account to ask.
func lookForInstanceProfile(ctx context.Context, f *customresource.PlanCheck) {
	name, _ := f.Spec["instanceProfile"].(string)
	if name == "" || name == f.Before["instanceProfile"] || f.Session.Config.ClusterName == "" || f.Session.Drafts.HasInstanceProfile(name) {
		return
	}
	account, err := f.Session.Account(ctx)
	if err == nil {
		_, _, err = account.Profiles.Read(ctx, name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.ReportFindings(finding.List{{
			Path: "spec.instanceProfile", Text: finding.Say("the account has no instance profile %q", name),
			Advice: finding.Say("no machine starts without it. Refer to the resource that creates it, such as packhorse_node_role.example.instance_profile, or correct the name"),
		}}, "")
	case err != nil:
		f.Skip("the instance profile", err)
	}
}

// CheckRemoval reports nothing, because nodes that were built from the profile stay.
func (Kind) CheckRemoval(context.Context, *customresource.PlanCheck) {}
