package data

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

type simulationModel struct {
	Manifests    []string      `tfsdk:"manifests"`
	Provisioners types.Dynamic `tfsdk:"provisioners"`
	NodeProfiles types.Dynamic `tfsdk:"node_profiles"`
	Live         types.Bool    `tfsdk:"live"`

	Machines     []machineModel  `tfsdk:"machines"`
	Bindings     []bindingModel  `tfsdk:"bindings"`
	Unplaced     []unplacedModel `tfsdk:"unplaced"`
	Removals     []removalModel  `tfsdk:"removals"`
	HourlyPrice  types.Float64   `tfsdk:"hourly_price"`
	MonthlyPrice types.Float64   `tfsdk:"monthly_price"`
	LowerBound   types.Float64   `tfsdk:"lower_bound"`
	GapPercent   types.Float64   `tfsdk:"gap_percent"`
	Summary      types.String    `tfsdk:"summary"`
	Plan         types.String    `tfsdk:"plan"`
	Warnings     types.List      `tfsdk:"warnings"`
	Catalogue    *catalogueModel `tfsdk:"catalogue"`
}

type machineModel struct {
	Name         string    `tfsdk:"name"`
	Provisioner  string    `tfsdk:"provisioner"`
	InstanceType string    `tfsdk:"instance_type"`
	Zone         string    `tfsdk:"zone"`
	CapacityType string    `tfsdk:"capacity_type"`
	HourlyPrice  float64   `tfsdk:"hourly_price"`
	Pods         []string  `tfsdk:"pods"`
	Moving       []string  `tfsdk:"moving"`
	Used         types.Map `tfsdk:"used"`
	Allocatable  types.Map `tfsdk:"allocatable"`
	Alternatives int64     `tfsdk:"alternatives"`
	Why          string    `tfsdk:"why"`
}

type bindingModel struct {
	Pod  string `tfsdk:"pod"`
	Node string `tfsdk:"node"`
}

type unplacedModel struct {
	Pod    string `tfsdk:"pod"`
	Reason string `tfsdk:"reason"`
}

type removalModel struct {
	Node   string `tfsdk:"node"`
	Reason string `tfsdk:"reason"`
}

// fromCluster reports whether the live cluster takes part.
func (m *simulationModel) fromCluster() bool {
	if m.Live.IsNull() {
		return len(m.Manifests) == 0
	}
	return m.Live.ValueBool()
}

// fill takes the answer from a report.
func (m *simulationModel) fill(r *explain.Report) {
	m.HourlyPrice, m.MonthlyPrice = types.Float64Value(r.HourlyPrice), types.Float64Value(r.HourlyPrice*monthHours)
	m.LowerBound, m.GapPercent = types.Float64Null(), types.Float64Null()
	if r.Proof != nil {
		m.LowerBound, m.GapPercent = types.Float64Value(r.LowerBound), types.Float64Value(r.GapPercent)
	}
	m.Summary = types.StringValue(r.Text())
	m.Machines, m.Bindings = []machineModel{}, []bindingModel{}
	m.Unplaced, m.Removals = []unplacedModel{}, []removalModel{}
	for _, machine := range r.Machines {
		model := machineModel{
			Name: machine.Name, Provisioner: machine.Provisioner,
			InstanceType: machine.InstanceType, Zone: machine.Zone, CapacityType: machine.CapacityType, HourlyPrice: machine.HourlyPrice,
			Pods: machine.Pods, Moving: []string{}, Used: value.Map(machine.Used), Allocatable: value.Map(machine.Allocatable),
			Alternatives: int64(machine.Alternatives), Why: machine.Why,
		}
		for _, move := range machine.Moving {
			model.Moving = append(model.Moving, move.Pod)
		}
		m.Machines = append(m.Machines, model)
	}
	for _, b := range r.Bindings {
		m.Bindings = append(m.Bindings, bindingModel{b.Pod, b.Node})
	}
	for _, u := range r.Unplaced {
		m.Unplaced = append(m.Unplaced, unplacedModel{u.Pod, u.Reason})
	}
	for _, removal := range r.Removals {
		m.Removals = append(m.Removals, removalModel{removal.Node, removal.Message})
	}
}

// draftManifests turns a list of drafts into manifests, by the place of each.
func draftManifests(ctx context.Context, k customresource.Kind, attribute string, value types.Dynamic, diags *diag.Diagnostics) map[string][]byte {
	out := map[string][]byte{}
	if value.IsNull() || value.IsUnderlyingValueNull() {
		return out
	}
	items, err := draftItems(ctx, k, value)
	if err != nil {
		diags.AddAttributeError(path.Root(attribute), fmt.Sprintf("%s: %s", attribute, err), "A list of whole resources, or of objects with their arguments and a name.")
		return out
	}
	for i, item := range items {
		if item.IsNull() {
			continue // as elements of other lists
		}
		at := fmt.Sprintf("%s[%d]", attribute, i)
		text, problems := draftManifest(k, wire.ModelOf(item), at)
		if diags.Append(problems...); problems.HasError() {
			continue
		}
		out[at] = text
	}
	return out
}

// draftItems gives the elements of the list the type of the resource.
func draftItems(ctx context.Context, k customresource.Kind, value types.Dynamic) ([]tftypes.Value, error) {
	raw, err := value.UnderlyingValue().ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	conformed, err := wire.Conform(raw, tftypes.List{ElementType: wire.TypeOf(ctx, k.Schema(ctx))})
	if err != nil {
		return nil, err
	}
	return wire.Elements(conformed), nil
}

// draftManifest is the JSON of one draft. An invalid draft buys nothing, and would seem to cost nothing.
func draftManifest(k customresource.Kind, draft *wire.Model, place string) (text []byte, problems diag.Diagnostics) {
	doc, err := k.Codec().EncodeModel(draft)
	if err == nil && draft.Name() == "" {
		err = errors.New("the draft has no name")
	}
	if err == nil {
		if problems = customresource.CheckDraft(k, draft, doc, place); problems.HasError() {
			return nil, problems
		}
		text, err = json.Marshal(customresource.ManifestOf(k.Object(), draft.Name(), doc.Fields))
	}
	if err != nil {
		root, _, _ := strings.Cut(place, "[")
		problems.AddAttributeError(path.Root(root), fmt.Sprintf("%s: %s", place, err), "")
	}
	return text, problems
}
