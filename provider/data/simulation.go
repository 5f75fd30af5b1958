package data

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/manifest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/simulate"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/provisioner"
)

// monthHours is the average number of hours of a month: 365 × 24 / 12.
const monthHours = 730

// NewSimulation returns the data source packhorse_simulation.
func NewSimulation() datasource.DataSource { return &simulationData{reader{suffix: "_simulation"}} }

// simulationData makes the agent's decision without carrying it out.
type simulationData struct{ reader }

func (d *simulationData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = simulationSchema()
}

func (d *simulationData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	ctx = d.session.Mask(ctx)
	var m simulationModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	whole, warnings := d.whole(ctx, &m, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	stock, err := d.session.Stock(ctx)
	if err != nil {
		resp.Diagnostics.AddError("no catalogue: "+err.Error(), advice(err, noCatalogue))
		return
	}
	nodes, err := d.session.NodeOptions(ctx)
	if err != nil {
		warnings = append(warnings, "nodes are sized with the default options of the agent, because its own could not be read: "+err.Error())
	}
	plan, report, err := runSimulation(ctx, whole, stock, nodes)
	if err != nil {
		resp.Diagnostics.AddError(err.Error(), lifecycle.Bug)
		return
	}
	m.Plan = types.StringValue(plan)
	m.fill(report)
	m.Warnings = value.List(append(warnings, report.Warnings...))
	m.Catalogue = modelOfCatalogue(stock.Catalogue, stock.Region, stock.Note)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// whole returns the cluster to decide on: the live one, that of the manifests, or both combined.
func (d *simulationData) whole(ctx context.Context, m *simulationModel, diags *diag.Diagnostics) (*cluster.Survey, []string) {
	builder := m.read(ctx, diags)
	var live *cluster.Survey
	if m.fromCluster() && !diags.HasError() {
		var err error
		if live, err = d.survey(ctx); err != nil {
			diags.AddError(lifecycle.NoCluster+": "+err.Error(), advice(err, "Set `live` to false to simulate with the manifests alone."))
			return nil, nil
		}
		builder.Beside(live)
	}
	set, err := builder.Build()
	for _, problem := range manifest.Problems(err) {
		diags.AddError(problem.Error(), "The documents are read as `packhorse-agent simulate` reads files.")
	}
	for _, problem := range invalid(set) {
		diags.AddError(problem.Error(), "The agent would buy nothing with it. Correct it, or remove it from the manifests.")
	}
	if live == nil {
		return simulate.FromManifests(set)
	}
	return simulate.Combine(live, set), slices.Concat(live.Hidden, live.HiddenClasses, simulate.OfOthers(live), set.Warnings())
}

// invalid returns what rules of the API the Provisioners and node profiles of the manifests break. An invalid one buys nothing,
// and would seem to cost nothing.
func invalid(set *manifest.Set) (problems []error) {
	for _, d := range set.Documents {
		var errs finding.List
		switch {
		case d.Provisioner != nil && d.Provisioner.Source == nil:
			errs = validate.Provisioner(d.Provisioner).Errors()
		case d.NodeTemplate != nil && d.NodeTemplate.Source == nil:
			errs = validate.NodeTemplate(d.NodeTemplate).Errors()
		}
		for _, found := range errs {
			problems = append(problems, d.At(found))
		}
	}
	return problems
}

// runSimulation makes the agent's decision. It returns the plan as JSON, and as a report.
func runSimulation(ctx context.Context, whole *cluster.Survey, stock *session.Stock, nodes offer.NodeOptions) (string, *explain.Report, error) {
	source := simulate.Cluster{
		Survey: whole, Market: stock.MarketFor(nodes), Now: time.Now(), Settings: decide.DefaultSettings(),
	}
	in := source.Input(ctx)
	in.Prove = true
	plan := decide.Decide(in)
	report := explain.Of(plan, in.Snapshot, 0)
	report.Warnings = append(report.Warnings, simulate.Estimates(&plan, in.Snapshot, stock.Catalogue.Regions[stock.Region])...)
	asJSON, err := json.Marshal(plan)
	if err != nil {
		return "", nil, fmt.Errorf("encode the plan: %w", err)
	}
	return string(asJSON), &report, nil
}

// read combines the manifests and the drafts.
func (m *simulationModel) read(ctx context.Context, diags *diag.Diagnostics) *manifest.Builder {
	builder := manifest.NewBuilder()
	for i, text := range m.Manifests {
		builder.Add(fmt.Sprintf("manifests[%d]", i), []byte(text))
	}
	drafts := []struct {
		attribute string
		value     types.Dynamic
		kind      customresource.Kind
	}{{"node_profiles", m.NodeProfiles, nodeprofile.Kind{}}, {"provisioners", m.Provisioners, provisioner.Kind{}}}
	for _, draft := range drafts {
		for name, text := range draftManifests(ctx, draft.kind, draft.attribute, draft.value, diags) {
			builder.Add(name, text)
		}
	}
	return builder
}
