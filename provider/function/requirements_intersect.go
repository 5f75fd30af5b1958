package function

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

var requirementType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"key": types.StringType, "operator": types.StringType, "values": types.ListType{ElemType: types.StringType},
}}

// requirementsIntersect combines lists of requirements and simplifies the result.
func requirementsIntersect() function.Function {
	return described{"requirements_intersect", function.Definition{
		Summary: "Combines requirements",
		MarkdownDescription: "Returns the intersection of the given lists of requirements, simplified and sorted by key. If " +
			"requirements contradict each other, the function fails and names the key.",
		VariadicParameter: function.DynamicParameter{
			Name: "requirements", MarkdownDescription: "Lists of requirements, as in `packhorse_provisioner`: objects with " +
				"`key`, `operator` and, if the operator needs them, `values`.",
		},
		Return: function.ListReturn{ElementType: requirementType},
	}, runRequirementsIntersect}
}

func runRequirementsIntersect(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var lists []types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &lists); resp.Error != nil {
		return
	}
	together := map[string]labelset.Set{}
	for i, list := range lists {
		requirements, err := readRequirements(ctx, list)
		if err == nil {
			err = intersect(together, requirements)
		}
		if err != nil {
			resp.Error = function.NewArgumentFuncError(int64(i), err.Error())
			return
		}
	}
	resp.Error = resp.Result.Set(ctx, types.ListValueMust(requirementType, valuesOf(together)))
}

// readRequirements converts the user's list.
func readRequirements(ctx context.Context, list types.Dynamic) ([]api.Requirement, error) {
	raw, err := list.UnderlyingValue().ToTerraformValue(ctx)
	if err != nil {
		return nil, err
	}
	written := maps.Clone(requirementType.AttrTypes)
	written["min_values"] = types.NumberType // of a provisioner's requirements, where it is mostly null
	typ := types.ListType{ElemType: types.ObjectType{AttrTypes: written}}
	conformed, err := wire.Conform(raw, typ.TerraformType(ctx))
	if err != nil {
		return nil, fmt.Errorf("not a list of requirements: %w", err)
	}
	codec := wire.Codec{}
	var out []api.Requirement
	for i, item := range wire.Elements(conformed) {
		if item.IsNull() {
			continue // as in packhorse_provisioner
		}
		doc, err := codec.Encode(item)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if _, set := doc.Fields["minValues"]; set {
			return nil, fmt.Errorf("[%d]: min_values cannot be intersected; add it to the result", i)
		}
		r := api.Requirement{}
		r.Key, _ = doc.Fields["key"].(string)
		operator, _ := doc.Fields["operator"].(string)
		r.Operator = api.Operator(operator)
		values, _ := doc.Fields["values"].([]any)
		for _, v := range values {
			text, _ := v.(string)
			r.Values = append(r.Values, text)
		}
		if r.Key == "" {
			return nil, fmt.Errorf("[%d]: key is missing", i)
		}
		out = append(out, r)
	}
	return out, nil
}

func intersect(together map[string]labelset.Set, requirements []api.Requirement) error {
	for i, r := range requirements {
		set, err := labelset.New(r.Operator, r.Values)
		if err != nil {
			return fmt.Errorf("[%d]: %s: %w", i, r.Key, err)
		}
		key := api.NormalizeLabel(r.Key)
		both := set
		if have, ok := together[key]; ok {
			both = have.Intersect(set)
			if both.Empty() {
				return fmt.Errorf("[%d]: %s %s contradicts %s: no value meets both", i, key, set, have)
			}
		} else if set.Empty() {
			return fmt.Errorf("[%d]: %s: no value can meet %s [%s]", i, key, r.Operator, strings.Join(r.Values, ", "))
		}
		together[key] = both
	}
	return nil
}

func valuesOf(together map[string]labelset.Set) []attr.Value {
	out := []attr.Value{}
	for _, key := range slices.Sorted(maps.Keys(together)) {
		for _, r := range together[key].Spell(key) {
			out = append(out, types.ObjectValueMust(requirementType.AttrTypes, map[string]attr.Value{
				"key": types.StringValue(r.Key), "operator": types.StringValue(string(r.Operator)), "values": value.List(r.Values),
			}))
		}
	}
	return out
}
