package function_test

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	sdk "github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/function"
)

// run calls a function as Terraform does: variadic arguments come as one tuple.
func run(t *testing.T, name string, arguments ...attr.Value) (attr.Value, *sdk.FuncError) {
	t.Helper()
	weighted := function.Arguments{Types: map[string]attr.Type{"weight": types.Int64Type}}
	for _, newFunction := range function.All(weighted, function.Arguments{Types: map[string]attr.Type{"ami_family": types.StringType}}) {
		f := newFunction()
		var is sdk.MetadataResponse
		f.Metadata(t.Context(), sdk.MetadataRequest{}, &is)
		if is.Name != name {
			continue
		}
		var def sdk.DefinitionResponse
		f.Definition(t.Context(), sdk.DefinitionRequest{}, &def)
		result, problem := def.Definition.Return.NewResultData(t.Context())
		if problem != nil {
			t.Fatal(problem)
		}
		resp := sdk.RunResponse{Result: result}
		f.Run(t.Context(), sdk.RunRequest{Arguments: sdk.NewArgumentsData(arguments)}, &resp)
		return resp.Result.Value(), resp.Error
	}
	t.Fatalf("there is no function %s", name)
	return nil, nil
}

func text(s string) attr.Value { return types.StringValue(s) }

// tuple is how variadic arguments arrive.
func tuple(values ...attr.Value) attr.Value {
	of := make([]attr.Type, len(values))
	for i, v := range values {
		of[i] = v.Type(context.Background())
	}
	return types.TupleValueMust(of, values)
}

// wantError checks that the error names the argument at fault, and what is wrong.
func wantError(t *testing.T, problem *sdk.FuncError, argument int64, want string) {
	t.Helper()
	if problem == nil || problem.FunctionArgument == nil || *problem.FunctionArgument != argument || !strings.Contains(problem.Text, want) {
		t.Errorf("error = %v, want %q of argument %d", problem, want, argument)
	}
}

// Quantities keep their exact value, also those that no float64 holds.
func TestParseQuantity(t *testing.T) {
	tests := map[string]struct{ want, problem string }{
		"500m":             {want: "0.5"},
		"2":                {want: "2"},
		"1.5Gi":            {want: "1610612736"},
		"10k":              {want: "10000"},
		"-1":               {want: "-1"},
		"9007199254740993": {want: "9007199254740993"}, // 2^53 + 1
		"2 cores":          {problem: `"2 cores" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 10k`},
		"":                 {problem: `"" is not a quantity`},
	}
	for quantity, tt := range tests {
		t.Run(quantity, func(t *testing.T) {
			got, problem := run(t, "parse_quantity", text(quantity))
			if tt.problem != "" {
				wantError(t, problem, 0, tt.problem)
				return
			}
			if problem != nil {
				t.Fatal(problem)
			}
			want, _ := new(big.Float).SetPrec(512).SetString(tt.want)
			if number, ok := got.(types.Number); !ok || number.ValueBigFloat().Cmp(want) != 0 {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestInstanceTypeParts(t *testing.T) {
	tests := map[string]struct {
		category, family string
		generation       int64
		size             string
	}{
		"m7g.large":        {"m", "m7g", 7, "large"},
		"p4d.24xlarge":     {"p", "p4d", 4, "24xlarge"},
		"c7i-flex.8xlarge": {"c", "c7i-flex", 7, "8xlarge"},
		"inf2.xlarge":      {"inf", "inf2", 2, "xlarge"},
		"m5.metal":         {"m", "m5", 5, "metal"},
	}
	for name, tt := range tests {
		got, problem := run(t, "instance_type_parts", text(name))
		if problem != nil {
			t.Errorf("%s: %v", name, problem)
			continue
		}
		want := map[string]attr.Value{
			"category": text(tt.category), "family": text(tt.family), "generation": types.Int64Value(tt.generation), "size": text(tt.size),
		}
		if parts := got.(types.Object); !parts.Equal(types.ObjectValueMust(parts.AttributeTypes(t.Context()), want)) {
			t.Errorf("%s: got %s", name, parts)
		}
	}
	for _, name := range []string{"", "large", "m7g", "m7g.", ".large"} {
		_, problem := run(t, "instance_type_parts", text(name))
		wantError(t, problem, 0, "is not an instance type: write family and size, such as m7g.large")
	}
}

// White space does not count, in strings of the policy as little as elsewhere.
func TestPolicySize(t *testing.T) {
	for policy, want := range map[string]int64{"": 0, "{}": 2, "{ \"Version\": 1 }\n": 13, "{\"Sid\":\"é\"}": 11} {
		if got, problem := run(t, "policy_size", text(policy)); problem != nil || !got.Equal(types.Int64Value(want)) {
			t.Errorf("size of %q = %v, %v, want %d", policy, got, problem, want)
		}
	}
}

const providerARN = "arn:aws:iam::123456789012:oidc-provider/issuer/id"

func TestTrustPolicy(t *testing.T) {
	got, problem := run(t, "trust_policy", text(providerARN), tuple(text("a/b"), text("c/d")))
	if problem != nil {
		t.Fatal(problem)
	}
	written := got.(types.String).ValueString()
	for _, part := range []string{providerARN, `"issuer/id:aud":"sts.amazonaws.com"`, "system:serviceaccount:a:b", "system:serviceaccount:c:d"} {
		if !strings.Contains(written, part) {
			t.Errorf("policy = %s, want %s in it", written, part)
		}
	}
	tests := map[string]struct {
		provider string
		accounts attr.Value
		argument int64
		want     string
	}{
		"no ARN":            {"issuer", tuple(text("a/b")), 0, `"issuer" is not the ARN of an IAM OIDC provider`},
		"another ARN":       {"arn:aws:iam::123456789012:role/a", tuple(text("a/b")), 0, "is not the ARN of an IAM OIDC provider"},
		"no ServiceAccount": {providerARN, tuple(), 1, "name at least one ServiceAccount"},
		"no namespace":      {providerARN, tuple(text("a/b"), text("c")), 2, `"c" is not a ServiceAccount`},
		"an empty name":     {providerARN, tuple(text("a/")), 1, `"a/" is not a ServiceAccount`},
		"three parts":       {providerARN, tuple(text("a/b/c")), 1, `"a/b/c" is not a ServiceAccount: write namespace/name`},
		"a pattern":         {providerARN, tuple(text("a/b"), text("a/b"), text("c/*")), 3, `"c/*" is not a ServiceAccount`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, problem := run(t, "trust_policy", text(tt.provider), tt.accounts)
			wantError(t, problem, tt.argument, tt.want)
		})
	}
}

// requirement is an object as users write it: values are a tuple, and may be left out.
func requirement(key, operator string, values ...string) attr.Value {
	of, is := map[string]attr.Type{"key": types.StringType, "operator": types.StringType}, map[string]attr.Value{"key": text(key), "operator": text(operator)}
	if len(values) > 0 {
		var list []attr.Value
		for _, v := range values {
			list = append(list, text(v))
		}
		is["values"] = tuple(list...)
		of["values"] = is["values"].Type(context.Background())
	}
	return types.ObjectValueMust(of, is)
}

// with adds an attribute to a requirement.
func with(requirement attr.Value, name string, value attr.Value) attr.Value {
	object := requirement.(types.Object)
	of, is := object.AttributeTypes(context.Background()), object.Attributes()
	of[name], is[name] = value.Type(context.Background()), value
	return types.ObjectValueMust(of, is)
}

func TestRequirementsIntersect(t *testing.T) {
	list := func(requirements ...attr.Value) attr.Value { return types.DynamicValue(tuple(requirements...)) }
	tests := map[string]struct {
		lists    []attr.Value
		want     []string
		argument int64
		problem  string
	}{
		"no lists":        {},
		"an empty list":   {lists: []attr.Value{list()}},
		"sorted by key":   {lists: []attr.Value{list(requirement("b", "Exists")), list(requirement("a", "DoesNotExist"))}, want: []string{"a DoesNotExist []", "b Exists []"}},
		"narrower values": {lists: []attr.Value{list(requirement("a", "In", "x", "y")), list(requirement("a", "NotIn", "x"))}, want: []string{`a In ["y"]`}},
		"within a list":   {lists: []attr.Value{list(requirement("a", "Gt", "3"), requirement("a", "Gt", "5"))}, want: []string{`a Gte ["6"]`}},
		"old and new names of a label": {
			lists: []attr.Value{list(requirement("beta.kubernetes.io/arch", "In", "amd64", "arm64")), list(requirement("kubernetes.io/arch", "In", "arm64"))},
			want:  []string{`kubernetes.io/arch In ["arm64"]`},
		},
		"a contradiction":     {lists: []attr.Value{list(requirement("a", "In", "b")), list(requirement("a", "DoesNotExist"))}, argument: 1, problem: "a DoesNotExist contradicts In [b]: no value meets both"},
		"an unknown operator": {lists: []attr.Value{list(), list(requirement("a", "Like", "b"))}, argument: 1, problem: "a: "},
		"no key":              {lists: []attr.Value{list(requirement("a", "Exists"), requirement("", "Exists"))}, argument: 0, problem: "[1]: key is missing"},
		"an unknown attribute": {
			lists:    []attr.Value{list(with(requirement("a", "In"), "value", tuple(text("b"))))},
			argument: 0, problem: "[0]: value is not a known argument; did you mean values?",
		},
		"as a provisioner has it": {lists: []attr.Value{list(with(requirement("a", "Exists"), "min_values", types.Int64Null()))}, want: []string{"a Exists []"}},
		"a null":                  {lists: []attr.Value{list(types.DynamicNull(), requirement("a", "Exists"))}, want: []string{"a Exists []"}},
		"a minimum":               {lists: []attr.Value{list(with(requirement("a", "Exists"), "min_values", types.Int64Value(2)))}, argument: 0, problem: "[0]: min_values cannot be intersected"},
		"no list":                 {lists: []attr.Value{list(), types.DynamicValue(text("a"))}, argument: 1, problem: "not a list of requirements"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problem := run(t, "requirements_intersect", tuple(tt.lists...))
			if tt.problem != "" {
				wantError(t, problem, tt.argument, tt.problem)
				return
			}
			if problem != nil {
				t.Fatal(problem)
			}
			var found []string
			for _, item := range got.(types.List).Elements() {
				is := item.(types.Object).Attributes()
				found = append(found, is["key"].(types.String).ValueString()+" "+is["operator"].(types.String).ValueString()+" "+is["values"].String())
			}
			if diff := cmp.Diff(tt.want, found); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Nothing of a manifest is lost in silence.
func TestFromKarpenterYAML(t *testing.T) {
	const weighted = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: 3}\n"
	tests := map[string]struct {
		yaml, problem string
		losses        []string
	}{
		"nothing lost":        {yaml: weighted},
		"another kind":        {yaml: weighted + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n", losses: []string{"Pod b: is skipped: the kinds are Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass"}},
		"the same name twice": {yaml: weighted + "---\n" + strings.Replace(weighted, "3", "4", 1), losses: []string{"Provisioner a: appears twice, the first one is taken"}},
		"a NodePool of the name": {
			yaml:   weighted + "---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}, requirements: []}}}\n",
			losses: []string{"NodePool a (karpenter.sh/v1): is skipped, because Provisioner a has this name too"},
		},
		"a key twice":           {yaml: weighted + "spec: {weight: 4}\n", problem: `read document 1, line 5: is not valid YAML from this line on: key "spec" already set in map`},
		"no name":               {yaml: "apiVersion: karpenter.sh/v1\nkind: NodePool", problem: `a document of kind "NodePool" has no metadata.name`},
		"a value of wrong type": {yaml: strings.Replace(weighted, "3", "heavy", 1), problem: "weight"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, problem := run(t, "from_karpenter_yaml", text(tt.yaml))
			if tt.problem != "" {
				wantError(t, problem, 0, tt.problem)
				return
			}
			if problem != nil {
				t.Fatal(problem)
			}
			is := got.(types.Object).Attributes()
			converted := types.ObjectValueMust(map[string]attr.Type{"weight": types.Int64Type}, map[string]attr.Value{"weight": types.Int64Value(3)})
			if want := types.MapValueMust(converted.Type(t.Context()), map[string]attr.Value{"a": converted}); !is["provisioners"].Equal(want) {
				t.Errorf("provisioners = %s, want %s", is["provisioners"], want)
			}
			var losses []string
			for _, loss := range is["losses"].(types.List).Elements() {
				losses = append(losses, loss.(types.String).ValueString())
			}
			if diff := cmp.Diff(tt.losses, losses); diff != "" {
				t.Errorf("losses (-want +got):\n%s", diff)
			}
		})
	}
}
