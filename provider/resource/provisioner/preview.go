package provisioner

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/plancheck"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// planPreview is the attribute with the results of a plan's check. Terraform plans again before it applies, and
// reports a difference as a bug of the provider. So the attribute contains only what does not change quickly:
// list prices instead of spot prices, and the number of nodes to replace only if it is 0.
const planPreview = "plan_preview"

var offeringTypes = map[string]attr.Type{"instance_type": types.StringType, "hourly_price": types.Float64Type}

var previewTypes = map[string]attr.Type{
	"matching_types":   types.Int64Type,
	"zones":            types.ListType{ElemType: types.StringType},
	"architectures":    types.ListType{ElemType: types.StringType},
	"cheapest":         types.ObjectType{AttrTypes: offeringTypes},
	"dearest":          types.ObjectType{AttrTypes: offeringTypes},
	"fewest_pods":      types.Int64Type,
	"most_pods":        types.Int64Type,
	"nodes_to_replace": types.Int64Type,
	"catalogue":        types.StringType,
}

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
		MarkdownDescription: "Result of the last change when it was planned. Null with `plan_checks = \"off\"` or if no " +
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
			"nodes_to_replace": number("Number of nodes that the change replaces because they no longer match. If it is not 0, " +
				"the plan shows it in a warning, and the attribute is known after apply."),
			"catalogue": schema.StringAttribute{Computed: true, MarkdownDescription: "Source of the instance types: `EC2`, `file` or `embedded`."},
		},
	}
}

// previewValue returns the value of the attribute. If the change replaces nodes, their number is unknown, because
// it may change until the apply.
func previewValue(p plancheck.Preview, catalogue *offer.Catalogue, region string, replaces bool) attr.Value {
	cheapest, dearest := listed(p.Types, catalogue, region)
	nodes := types.Int64Value(0)
	if replaces {
		nodes = types.Int64Unknown()
	}
	return types.ObjectValueMust(previewTypes, map[string]attr.Value{
		"matching_types":   types.Int64Value(int64(len(p.Types))),
		"zones":            value.List(p.Zones()),
		"architectures":    value.List(p.Architectures),
		"cheapest":         cheapest,
		"dearest":          dearest,
		"fewest_pods":      types.Int64Value(p.FewestPods),
		"most_pods":        types.Int64Value(p.MostPods),
		"nodes_to_replace": nodes,
		"catalogue":        types.StringValue(catalogue.Source),
	})
}

// listed returns the cheapest and the most expensive type by list price. Both are null if no price is known.
func listed(all []offer.InstanceType, catalogue *offer.Catalogue, region string) (cheapest, dearest attr.Value) {
	cheapest, dearest = types.ObjectNull(offeringTypes), types.ObjectNull(offeringTypes)
	sold, err := catalogue.Region(region)
	if err != nil {
		return cheapest, dearest
	}
	var low, high offer.Price
	for _, t := range all {
		price := sold.Sales[t.Name].OnDemand
		value := types.ObjectValueMust(offeringTypes, map[string]attr.Value{
			"instance_type": types.StringValue(t.Name), "hourly_price": types.Float64Value(price.Dollars()),
		})
		if price > 0 && (low == 0 || price < low) {
			low, cheapest = price, value
		}
		if price > high {
			high, dearest = price, value
		}
	}
	return cheapest, dearest
}
