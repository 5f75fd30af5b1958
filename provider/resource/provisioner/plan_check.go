package provisioner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Draft implements [customresource.Kind].
func (k Kind) Draft(d *session.Drafts, name string, spec map[string]any) session.Turn {
	p, _, err := k.decode(name, spec)
	if err != nil {
		return d.All()
	}
	return session.Draft(d, p)
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
	drafts := &f.Session.Drafts
	templates := session.Drafted(drafts, live.NodeTemplates, drafts.All())
	if err == nil {
		for _, hidden := range live.Hidden {
			f.Miss("NodePools that serve the same pods", hidden)
		}
		f.ReportFindings(plancheck.Profile(p, templates), "")
		f.ReportFindings(plancheck.Overlaps(p, session.Drafted(drafts, live.Provisioners, drafts.All())), "")
	}
	stock, err := f.Session.Stock(ctx)
	if err != nil && f.Session.Config.CatalogueFile != "" && !errors.Is(err, session.ErrUnknown) { // on which the plan may rest that is applied now
		f.Diags.AddError(fmt.Sprintf("%s %s: %s", f.Title, f.Name, err), lifecycle.NothingChanged)
		return nil
	}
	if err != nil {
		f.Skip("the catalogue", err)
		return nil
	}
	seen, market, complete := checkMarket(ctx, f, p, templates, stock)
	replacement := f.Replaced(ctx, live, stock)
	f.ReportFindings(replacement.Findings(), "")
	if !complete {
		return nil
	}
	cheapest, dearest := listed(seen.Types, market.Types)
	preview := func(nodes types.Int64) map[string]attr.Value {
		return map[string]attr.Value{planPreview: previewValue(seen, cheapest, dearest, stock.Catalogue.Source, nodes)}
	}
	f.Session.Drafts.SetResults(f.Name, preview(types.Int64Value(int64(len(replacement)))))
	switch byRegion := !stock.Live && p.Spec.ProviderRef == nil; {
	case !byRegion || f.Session.Config.AWS.Region == "":
		reportPreview(f, seen, cheapest, dearest, stock, byRegion)
		return nil
	case f.Before != nil:
		return preview(types.Int64Unknown())
	}
	return preview(types.Int64Value(0))
}

// reportPreview shows a preview that the plan cannot contain, because AWS, the node profile or the region of the
// environment may change until the apply. byRegion means that only the region may.
func reportPreview(f *customresource.PlanCheck, seen plancheck.Preview, cheapest, dearest sale, stock *session.Stock, byRegion bool) {
	if len(seen.Types) == 0 {
		return // which is reported as an error
	}
	prices := ""
	if cheapest.price > 0 {
		prices = fmt.Sprintf(", from %s to %s", cheapest, dearest)
	}
	why := "This may change until the apply, so `plan_preview` is known only then."
	if byRegion {
		why = "The region comes from the environment or the profile, and may be another during the apply, so `plan_preview` is known only then. To know it in the plan, set `region` in the provider block."
	}
	f.Diags.AddWarning(fmt.Sprintf("%s %s: %s in %s%s", f.Title, f.Name, explain.Plural(len(seen.Types), "matching instance type"), strings.Join(seen.Zones(), ", "), prices),
		why+" Source: "+stock.Age(time.Now())+".")
}

// checkMarket returns what the provisioner could buy, the market of its node profile, and whether everything that this
// depends on could be read.
func checkMarket(ctx context.Context, f *customresource.PlanCheck, p *api.Provisioner, templates []*api.AWSNodeTemplate, stock *session.Stock) (seen plancheck.Preview, market offer.Market, complete bool) {
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
		return plancheck.Preview{}, offer.Market{}, false
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
	complete = market.Blocked == "" && missing == "" && (stock.Note == "" || f.Session.Config.ClusterName == "")
	return seen, market, complete
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
	detail := leaving.Detail()
	if f.Renamed {
		detail += " Unless `lifecycle` has `create_before_destroy = true`, Terraform creates the provisioner of the new name only after that: " +
			"until then, nothing buys nodes for these pods, and disruption budgets may hold up the destroy until its time limit."
	}
	f.Diags.AddWarning(leaving.Summary(f.Title+" "+f.Name), detail)
}
