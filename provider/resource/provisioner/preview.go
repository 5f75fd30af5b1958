package provisioner

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// planPreview is the attribute with the results of a plan's check. A plan contains only what follows from the
// configuration and a fixed catalogue. What AWS and the cluster say is known after the apply.
const planPreview = "plan_preview"

var (
	previewTypes  = previewAttribute().GetType().(types.ObjectType).AttrTypes
	offeringTypes = previewTypes["cheapest"].(types.ObjectType).AttrTypes
)

func previewAttribute() schema.SingleNestedAttribute {
	listed := func(which string) schema.SingleNestedAttribute {
		return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: "The " + which + " matching type by on-demand price.", Attributes: attribute.Level{
			"instance_type": schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the instance type."},
			"hourly_price":  schema.Float64Attribute{Computed: true, MarkdownDescription: "On-demand price in dollars per hour."},
		}}
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
	}
	list := func(description string) schema.ListAttribute {
		return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Computed: true,
		MarkdownDescription: "Result of the last change when it was checked before the apply. Known at plan only if there is " +
			"no `provider_ref`, and the provider block has `region`, and either `catalogue_file` or no `cluster_name`. Otherwise AWS, the node profile or the region " +
			"of the environment may change until the apply: " +
			"the plan shows the result in a warning, and the attribute is known after apply. Null with `plan_checks = \"off\"` or if no " +
			"catalogue was available. It does not consider spot prices and stock, which change by the minute: use the data " +
			"source `packhorse_simulation`.",
		Attributes: attribute.Level{
			"matching_types": number("Number of instance types that meet all requirements."),
			"zones":          list("Zones in which the matching types are sold. If AWS was asked, only zones with a subnet."),
			"architectures":  list("Architectures of the matching types."),
			"cheapest":       listed("cheapest"),
			"dearest":        listed("most expensive"),
			"fewest_pods":    number("Smallest number of pods per node among the matching types."),
			"most_pods":      number("Largest number of pods per node among the matching types."),
			"nodes_to_replace": number("Number of nodes that the change replaces because they no longer match or are too old. For a new provisioner it is 0. " +
				"Otherwise it is known after apply; if it is not 0, the plan shows it in a warning."),
			"catalogue": schema.StringAttribute{Computed: true, MarkdownDescription: "Source of the instance types: `EC2`, `file` or `embedded`."},
		},
	}
}

// previewValue returns the value of the attribute.
func previewValue(p plancheck.Preview, cheapest, dearest sale, source string, nodes types.Int64) attr.Value {
	return types.ObjectValueMust(previewTypes, map[string]attr.Value{
		"matching_types":   types.Int64Value(int64(len(p.Types))),
		"zones":            value.List(p.Zones()),
		"architectures":    value.List(p.Architectures),
		"cheapest":         cheapest.value(),
		"dearest":          dearest.value(),
		"fewest_pods":      types.Int64Value(p.FewestPods),
		"most_pods":        types.Int64Value(p.MostPods),
		"nodes_to_replace": nodes,
		"catalogue":        types.StringValue(source),
	})
}

// sale is an instance type with its list price. It is zero if no price is known.
type sale struct {
	name  string
	price offer.Price
}

func (s sale) value() attr.Value {
	if s.price == 0 {
		return types.ObjectNull(offeringTypes)
	}
	return types.ObjectValueMust(offeringTypes, map[string]attr.Value{
		"instance_type": types.StringValue(s.name), "hourly_price": types.Float64Value(s.price.Dollars()),
	})
}

func (s sale) String() string { return fmt.Sprintf("%s at $%g per hour", s.name, s.price.Dollars()) }

// listed returns the cheapest and the most expensive type by on-demand price, which has the licence of Windows. The
// market has it also for types that match with other offerings only.
func listed(all, market []offer.InstanceType) (cheapest, dearest sale) {
	prices := make(map[string]offer.Price, len(market))
	for _, t := range market {
		for _, o := range t.Offerings {
			if o.CapacityType == api.CapacityOnDemand {
				prices[t.Name] = o.Price
			}
		}
	}
	for _, t := range all {
		price := prices[t.Name]
		if price > 0 && (cheapest.price == 0 || price < cheapest.price) {
			cheapest = sale{t.Name, price}
		}
		if price > dearest.price {
			dearest = sale{t.Name, price}
		}
	}
	return cheapest, dearest
}
