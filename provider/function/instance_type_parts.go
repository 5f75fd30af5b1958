package function

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var instanceTypeAttributes = map[string]attr.Type{
	"category": types.StringType, "family": types.StringType, "generation": types.Int64Type, "size": types.StringType,
}

// instanceTypeParts splits the name of an instance type.
func instanceTypeParts() function.Function {
	return described{"instance_type_parts", function.Definition{
		Summary: "Splits the name of an instance type",
		MarkdownDescription: "Returns the parts of a name such as `m7g.large`: its `category` (`m`), `family` (`m7g`), `generation` (`7`) and " +
			"`size` (`large`), as in the labels `karpenter.k8s.aws/instance-*`. The type need not exist.",
		Parameters: []function.Parameter{function.StringParameter{Name: "instance_type", MarkdownDescription: "Name of the instance type."}},
		Return:     function.ObjectReturn{AttributeTypes: instanceTypeAttributes},
	}, runInstanceTypeParts}
}

func runInstanceTypeParts(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var name string
	if resp.Error = req.Arguments.Get(ctx, &name); resp.Error != nil {
		return
	}
	family, category, generation, size := offer.SplitName(name)
	if !strings.HasPrefix(name, family+".") || category == "" || size == "" {
		resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("%q is not an instance type: write family and size, such as m7g.large", name))
		return
	}
	resp.Error = resp.Result.Set(ctx, types.ObjectValueMust(instanceTypeAttributes, map[string]attr.Value{
		"category": types.StringValue(category), "family": types.StringValue(family),
		"generation": types.Int64Value(generation), "size": types.StringValue(size),
	}))
}
