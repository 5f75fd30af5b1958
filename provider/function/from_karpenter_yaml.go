package function

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// Arguments describe the arguments of a resource that manages a custom resource.
type Arguments struct {
	Types map[string]attr.Type
	Codec wire.Codec
}

// fromKarpenterYAML converts manifests to arguments.
type fromKarpenterYAML struct{ provisioner, nodeProfile Arguments }

func (f fromKarpenterYAML) function() function.Function {
	return described{"from_karpenter_yaml", function.Definition{
		Summary: "Converts Karpenter manifests to arguments",
		MarkdownDescription: "Converts Karpenter manifests to the arguments of `packhorse_provisioner` and `packhorse_node_profile`. " +
			"It accepts Provisioner, AWSNodeTemplate, and NodePool and EC2NodeClass of `v1beta1` and `v1`.\n\n" +
			"`provisioners` and `node_profiles` map names to arguments; arguments that are not set are null. `losses` lists every field " +
			"without a counterpart, with its path and the reason, every unknown field, and every document that is skipped. A document is skipped if " +
			"its kind is not supported, or if its result would have the same name as another one. `losses` is empty if nothing is lost. For NodePools of EKS Auto Mode, the labels are translated and the class is lost.",
		Parameters: []function.Parameter{function.StringParameter{Name: "yaml", MarkdownDescription: "One or more YAML or JSON documents."}},
		Return:     function.ObjectReturn{AttributeTypes: f.types()},
	}, f.run}
}

func (f fromKarpenterYAML) types() map[string]attr.Type {
	return map[string]attr.Type{
		"provisioners":  types.MapType{ElemType: types.ObjectType{AttrTypes: f.provisioner.Types}},
		"node_profiles": types.MapType{ElemType: types.ObjectType{AttrTypes: f.nodeProfile.Types}},
		"losses":        types.ListType{ElemType: types.StringType},
	}
}

func (f fromKarpenterYAML) run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	objects, skipped, err := karpenter.Read([]byte(text))
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	provisioners, profiles, losses := map[string]attr.Value{}, map[string]attr.Value{}, append([]string{}, skipped...)
	for _, object := range objects {
		of, into := f.provisioner, provisioners
		if object.Kind == api.NodeTemplateKind {
			of, into = f.nodeProfile, profiles
		}
		if into[object.Name], err = of.value(ctx, object.Spec); err != nil {
			resp.Error = function.NewFuncError(fmt.Sprintf("%s %s: %s", object.Kind, object.Name, err))
			return
		}
		for _, loss := range object.Losses.Lines() {
			losses = append(losses, fmt.Sprintf("%s %s: %s", object.Kind, object.Name, loss))
		}
	}
	resp.Error = resp.Result.Set(ctx, types.ObjectValueMust(f.types(), map[string]attr.Value{
		"provisioners":  types.MapValueMust(types.ObjectType{AttrTypes: f.provisioner.Types}, provisioners),
		"node_profiles": types.MapValueMust(types.ObjectType{AttrTypes: f.nodeProfile.Types}, profiles),
		"losses":        value.List(losses),
	}))
}

// value converts a spec to an object of the arguments.
func (a Arguments) value(ctx context.Context, spec map[string]any) (attr.Value, error) {
	typ := types.ObjectType{AttrTypes: a.Types}
	root, ok := typ.TerraformType(ctx).(tftypes.Object)
	if !ok {
		return nil, fmt.Errorf("the type of the arguments is %s and not an object", typ)
	}
	raw, err := a.Codec.Decode(spec, root)
	if err != nil {
		return nil, err
	}
	return typ.ValueFromTerraform(ctx, raw)
}
