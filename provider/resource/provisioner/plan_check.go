package provisioner

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Draft implements [customresource.Kind].
func (k Kind) Draft(d *session.Drafts, name string, spec map[string]any) session.Turn {
	p, _, err := k.decode(name, spec)
	if err != nil {
		return d.All()
	}
	return d.AddProvisioner(p)
}

// Settles implements [customresource.Kind].
func (Kind) Settles() []string { return []string{planPreview} }

// CheckChange checks what the provisioner could buy and which nodes the change replaces.
func (k Kind) CheckChange(ctx context.Context, f *customresource.PlanCheck) map[string]attr.Value {
	p, _, err := k.decode(f.Name, f.Spec)
	if err != nil || len(validate.ProvisionerErrors(p)) > 0 {
		return nil // ValidateConfig has reported the errors
	}
	live, err := f.Session.Survey(ctx)
	if err != nil {
		f.Skip("the node profile, other provisioners and nodes", err)
		live = &cluster.Survey{Snapshot: &cluster.Snapshot{}}
	}
	templates := f.Session.Drafts.Templates(live.NodeTemplates, f.Session.Drafts.All())
	if err == nil {
		for _, hidden := range live.Hidden {
			f.Miss("NodePools that serve the same pods", hidden)
		}
		f.ReportFindings(plancheck.Profile(p, templates), "")
		f.ReportFindings(plancheck.Overlaps(p, f.Session.Drafts.Provisioners(live.Provisioners, f.Session.Drafts.All())), "")
	}
	stock, err := f.Session.Stock(ctx)
	if err != nil {
		f.Skip("the catalogue", err)
		return nil
	}
	seen, sure := checkMarket(ctx, f, p, templates, stock)
	replacement := f.Replaced(ctx, live, stock)
	f.ReportFindings(replacement.Finding(), "")
	f.Session.Drafts.SetReplaced(f.Name, len(replacement.Nodes))
	if !sure {
		return nil
	}
	value := previewValue(seen, stock.Catalogue, stock.Region, len(replacement.Nodes) > 0)
	return map[string]attr.Value{planPreview: value}
}

// checkMarket returns what the provisioner could buy, and whether another check before the apply will certainly
// have the same result.
func checkMarket(ctx context.Context, f *customresource.PlanCheck, p *api.Provisioner, templates []*api.AWSNodeTemplate, stock *session.Stock) (seen plancheck.Preview, sure bool) {
	if stock.Note != "" {
		f.Miss("subnets, images and current prices", stock.Note)
	}
	profile, missing := simulate.Profile(p, templates)
	if missing != "" {
		profile = nil
	}
	market, err := stock.Market.Market(ctx, p.Defaulted(), profile)
	if err != nil {
		f.Skip("the catalogue", err)
		return plancheck.Preview{}, false
	}
	seen, findings := plancheck.Look(plancheck.Subject{
		Provisioner: p, Market: market, Catalogue: stock.Catalogue, Region: stock.Region, RegionBy: "by `region` in the provider block",
	})
	for i := range findings {
		// The same apply may create or tag what is missing in AWS, and the embedded table may
		// lack new instance types.
		if market.Blocked != "" || stock.Note != "" {
			findings[i].Severity = finding.Warning
		}
	}
	f.ReportFindings(findings, "Source: "+stock.Age(time.Now())+".")
	sure = market.Blocked == "" && missing == "" && (stock.Note == "" || f.Session.Config.ClusterName == "")
	return seen, sure
}

// CheckRemoval warns of the nodes that are removed with the provisioner.
func (Kind) CheckRemoval(ctx context.Context, f *customresource.PlanCheck) {
	live, err := f.Session.Survey(ctx)
	if err != nil {
		return // the destroy reports the error
	}
	leaving := plancheck.Leaving(f.Name, live.Snapshot)
	if leaving.Nodes == 0 {
		return
	}
	f.Diags.AddWarning(leaving.Summary(f.Title+" "+f.Name), leaving.Detail())
}
