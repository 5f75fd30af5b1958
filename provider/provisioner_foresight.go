package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

func (k provisioner) draft(d *session.Drafts, name string, spec map[string]any) session.Turn {
	p, _, err := k.decode(name, spec)
	if err != nil {
		return d.All()
	}
	return d.AddProvisioner(p)
}

func (provisioner) forgo(ctx context.Context) map[string]tftypes.Value {
	return map[string]tftypes.Value{planPreview: tftypes.NewValue(previewType(ctx), nil)}
}

// foresee judges what the provisioner would buy and which nodes it would replace.
func (k provisioner) foresee(ctx context.Context, f *foresight) map[string]tftypes.Value {
	p, _, err := k.decode(f.name, f.spec)
	if err != nil || len(api.ValidateProvisioner(p)) > 0 {
		return nil // the rules of the API have been told already
	}
	live, err := f.session.Survey(ctx)
	if err != nil {
		f.skip("the node profile, other provisioners and nodes", err)
		live = &cluster.Survey{Snapshot: &cluster.Snapshot{}}
	}
	templates := f.session.Drafts.Templates(live.NodeTemplates, f.session.Drafts.All())
	if err == nil {
		f.tell(plancheck.Profile(p, templates), "")
		f.tell(plancheck.Overlaps(p, f.session.Drafts.Provisioners(live.Provisioners, f.session.Drafts.All())), "")
	}
	stock, err := f.session.Stock(ctx)
	if err != nil {
		f.skip("the catalogue", err)
		return nil
	}
	seen, sure := f.lookAtMarket(ctx, p, templates, stock)
	replacement := f.replaced(ctx, live, stock)
	f.tell(replacement.Finding(), "")
	f.session.Drafts.SetReplaced(f.name, len(replacement.Nodes))
	if !sure {
		return nil
	}
	value, err := previewValue(ctx, seen, stock.Catalogue, stock.Region, len(replacement.Nodes) > 0)
	if err != nil {
		f.diags.AddError(fmt.Sprintf("%s %s: %s", f.title, f.name, err), "This is a mistake in the provider, please report it.")
		return nil
	}
	return map[string]tftypes.Value{planPreview: value}
}

// lookAtMarket says what the provisioner may buy, and whether another look before
// apply will say the same.
func (f *foresight) lookAtMarket(ctx context.Context, p *api.Provisioner, templates []*api.AWSNodeTemplate, stock *session.Stock) (seen plancheck.Preview, sure bool) {
	if stock.Note != "" {
		f.unchecked = append(f.unchecked, gap{"subnets, images and current prices", stock.Note})
	}
	profile, missing := simulate.Profile(p, templates)
	if missing != "" {
		profile = nil
	}
	market, err := stock.Market.Market(ctx, p.Defaulted(), profile)
	if err != nil {
		f.skip("the catalogue", err)
		return plancheck.Preview{}, false
	}
	seen, findings := plancheck.Look(plancheck.Subject{
		Provisioner: p, Market: market, Catalogue: stock.Catalogue, Region: stock.Region, RegionBy: "by `region` in the provider block",
	})
	for i := range findings {
		// What AWS has no tag for yet may get it in the same apply, and the embedded
		// table may be older than an instance type.
		if market.Blocked != "" || stock.Note != "" {
			findings[i].Severity = plancheck.Doubtful
		}
	}
	f.tell(findings, "By the "+stock.Age(time.Now())+".")
	sure = market.Blocked == "" && missing == "" && (stock.Note == "" || f.session.Config.ClusterName == "")
	return seen, sure
}

// replaced tells which nodes the change replaces: those that stay with all the changes
// that were planned before it, so that each node is counted once, by the first change
// that replaces it.
func (f *foresight) replaced(ctx context.Context, live *cluster.Survey, stock *session.Stock) plancheck.Replacement {
	if f.before == nil {
		return plancheck.Replacement{}
	}
	upTo := func(turn session.Turn) simulate.Cluster {
		survey := &cluster.Survey{
			Snapshot: live.Snapshot, Rejected: live.Rejected,
			Provisioners:  f.session.Drafts.Provisioners(live.Provisioners, turn),
			NodeTemplates: f.session.Drafts.Templates(live.NodeTemplates, turn),
		}
		return simulate.Cluster{Survey: survey, Market: stock.Market, Now: time.Now(), Settings: decide.DefaultSettings()}
	}
	return plancheck.Replaced(ctx, upTo(f.turn-1), upTo(f.turn))
}

// foreseeRemoval tells which nodes go with the provisioner.
func (provisioner) foreseeRemoval(ctx context.Context, f *foresight) {
	live, err := f.session.Survey(ctx)
	if err != nil {
		return // the removal itself will say what it cannot reach
	}
	leaving := plancheck.Leaving(f.name, live.Snapshot)
	if leaving.Nodes == 0 {
		return
	}
	f.diags.AddWarning(leaving.Summary(f.title+" "+f.name), leaving.Detail())
}
