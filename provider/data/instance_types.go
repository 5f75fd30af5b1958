package data

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/validate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// NewInstanceTypes returns the data source packhorse_instance_types.
func NewInstanceTypes() datasource.DataSource {
	return &instanceTypesData{reader{suffix: "_instance_types"}}
}

type instanceTypesData struct{ reader }

type instanceTypesModel struct {
	Requirements  []requirementModel  `tfsdk:"requirements"`
	InstanceTypes []instanceTypeModel `tfsdk:"instance_types"`
	Names         types.List          `tfsdk:"names"`
	Catalogue     *catalogueModel     `tfsdk:"catalogue"`
}

type requirementModel struct {
	Key      types.String `tfsdk:"key"`
	Operator types.String `tfsdk:"operator"`
	Values   types.List   `tfsdk:"values"`
}

type instanceTypeModel struct {
	Name        types.String    `tfsdk:"name"`
	Labels      types.Map       `tfsdk:"labels"`
	Capacity    types.Map       `tfsdk:"capacity"`
	Allocatable types.Map       `tfsdk:"allocatable"`
	HourlyPrice types.Float64   `tfsdk:"hourly_price"`
	Offerings   []offeringModel `tfsdk:"offerings"`
}

type offeringModel struct {
	Zone         types.String  `tfsdk:"zone"`
	CapacityType types.String  `tfsdk:"capacity_type"`
	HourlyPrice  types.Float64 `tfsdk:"hourly_price"`
}

// catalogueModel is the source of instance types and prices.
type catalogueModel struct {
	Source types.String `tfsdk:"source"`
	Region types.String `tfsdk:"region"`
	ReadAt types.String `tfsdk:"read_at"`
	Note   types.String `tfsdk:"note"`
}

func (d *instanceTypesData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Returns the instance types of the region that meet the given requirements, with the capacity of " +
			"their nodes and their prices.\n\nThere are no default requirements: without any, all types that can run Amazon Linux 2023 are returned. The result " +
			"includes types for which there is no subnet or image.",
		Attributes: map[string]schema.Attribute{
			"requirements": schema.ListNestedAttribute{
				Optional: true, MarkdownDescription: "Requirements, as in `packhorse_provisioner`.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"key":      schema.StringAttribute{Required: true, MarkdownDescription: "Key of a well-known label."},
					"operator": schema.StringAttribute{Required: true, MarkdownDescription: "`In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`, `Gte` or `Lte`."},
					"values":   schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Values of the label."},
				}},
			},
			"names": computedTexts("Names of the instance types, sorted."),
			"instance_types": computedObjects("The instance types, sorted by name.", map[string]schema.Attribute{
				"name":         computedText("Name of the instance type."),
				"labels":       computedMap("Labels of its nodes, without those that depend on the offering."),
				"capacity":     computedMap("Capacity that the kubelet reports with default settings, by resource."),
				"allocatable":  computedMap("Capacity that is available to pods, by resource."),
				"hourly_price": computedPrice("Price of the cheapest offering in dollars per hour."),
				"offerings":    computedObjects("Ways to buy it, sorted by zone.", offeringAttributes()),
			}),
			"catalogue": catalogueAttribute(),
		},
	}
}

func offeringAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"zone":          computedText("Zone."),
		"capacity_type": computedText("`spot` or `on-demand`."),
		"hourly_price":  computedPrice("Price in dollars per hour."),
	}
}

func catalogueAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Computed: true, MarkdownDescription: "Source of instance types and prices.",
		Attributes: map[string]schema.Attribute{
			"source":  computedText("`EC2`, `file` or `embedded`."),
			"region":  computedText("Region of the types and prices."),
			"read_at": computedText("When they were read, in RFC 3339 format. Null if unknown."),
			"note":    computedText("Why AWS was not asked. Null if it was, or if a file is used."),
		},
	}
}

func (d *instanceTypesData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	ctx = d.session.Mask(ctx)
	var m instanceTypesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	stock, err := d.session.Stock(ctx)
	if err != nil {
		resp.Diagnostics.AddError("no catalogue: "+err.Error(), advice(err, noCatalogue))
		return
	}
	claims, err := claimsOf(m.Requirements)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("requirements"), err.Error(), "")
		return
	}
	all := stock.Catalogue.Types(offer.Settings{Region: stock.Region})
	selection := plancheck.Select(all, claims)
	names := make([]string, len(selection.Types))
	m.InstanceTypes = make([]instanceTypeModel, len(selection.Types))
	for i := range selection.Types {
		names[i] = selection.Types[i].Name
		m.InstanceTypes[i] = modelOfType(&selection.Types[i])
	}
	m.Names = value.List(names)
	m.Catalogue = modelOfCatalogue(stock.Catalogue, stock.Region, stock.Note)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// claimsOf validates requirements and converts them.
func claimsOf(requirements []requirementModel) ([]plancheck.Claim, error) {
	p := &api.Provisioner{}
	p.Name = lifecycle.Unnamed
	for _, r := range requirements {
		p.Spec.Requirements = append(p.Spec.Requirements, api.Requirement{Key: r.Key.ValueString(), Operator: api.Operator(r.Operator.ValueString()), Values: value.Listed(r.Values)})
	}
	if errs := validate.ProvisionerErrors(p); len(errs) > 0 {
		return nil, errs
	}
	return plancheck.Claims(p)[:len(requirements)], nil
}

func modelOfType(t *offer.InstanceType) instanceTypeModel {
	m := instanceTypeModel{
		Name: types.StringValue(t.Name), Capacity: amounts(t.Capacity), Allocatable: amounts(t.Allocatable()),
	}
	labels := map[string]string{}
	for key := range t.Labels {
		if value, ok := t.Label(key); ok {
			labels[key] = value
		}
	}
	m.Labels = value.Map(labels)
	for _, o := range t.Offerings {
		m.Offerings = append(m.Offerings, offeringModel{
			Zone: types.StringValue(o.Zone), CapacityType: types.StringValue(o.CapacityType), HourlyPrice: types.Float64Value(o.Price.Dollars()),
		})
	}
	cheapest := slices.MinFunc(t.Offerings, func(a, b offer.Offering) int { return cmp.Compare(a.Price, b.Price) })
	m.HourlyPrice = types.Float64Value(cheapest.Price.Dollars())
	return m
}

// amounts converts resources to Kubernetes quantities.
func amounts(l amount.List) types.Map {
	out := make(map[string]string, len(l))
	for name, v := range l {
		q := amount.Quantity(name, v)
		out[name] = q.String()
	}
	return value.Map(out)
}

func modelOfCatalogue(c *offer.Catalogue, region, note string) *catalogueModel {
	m := &catalogueModel{Source: types.StringValue(c.Source), Region: types.StringValue(region), Note: value.TextOrNull(note)}
	if !c.At.IsZero() {
		m.ReadAt = types.StringValue(c.At.UTC().Format(time.RFC3339))
	}
	return m
}
