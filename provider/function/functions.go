// Package function contains the provider's functions. They need neither a cluster nor AWS.
package function

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// All returns the constructors of all functions. The arguments of provisioners and node profiles
// are for from_karpenter_yaml, which converts manifests to them.
func All(provisioner, nodeProfile Arguments) []func() function.Function {
	return []func() function.Function{
		parseQuantity, instanceTypeParts, requirementsIntersect, trustPolicy, policySize,
		fromKarpenterYAML{provisioner, nodeProfile}.function,
	}
}

// described is a function with its name and its definition.
type described struct {
	name       string
	definition function.Definition
	run        func(context.Context, function.RunRequest, *function.RunResponse)
}

func (d described) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = d.name
}

func (d described) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = d.definition
}

func (d described) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	d.run(ctx, req, resp)
}

// parseQuantity converts a Kubernetes quantity to a number.
func parseQuantity() function.Function {
	return described{"parse_quantity", function.Definition{
		Summary:             "Converts a Kubernetes quantity to a number",
		MarkdownDescription: "Returns a quantity such as `500m`, `1.5Gi` or `2k` as a number in its base unit: cores, bytes or a count.",
		Parameters:          []function.Parameter{function.StringParameter{Name: "quantity", MarkdownDescription: "The quantity."}},
		Return:              function.NumberReturn{},
	}, runParseQuantity}
}

func runParseQuantity(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	q, err := amount.Parse(text)
	if errors.Is(err, amount.ErrLong) {
		resp.Error = function.NewArgumentFuncError(0, "the quantity "+err.Error())
		return
	}
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("%q is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 10k", text))
		return
	}
	// A float64 would round the decimal.
	value, _, err := big.ParseFloat(q.AsDec().String(), 10, 512, big.ToNearestEven)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, types.NumberValue(value))
}

// policySize counts the characters of a policy as IAM does.
func policySize() function.Function {
	return described{"policy_size", function.Definition{
		Summary: "Counts the characters of an IAM policy",
		MarkdownDescription: fmt.Sprintf("Returns the size of a policy as IAM counts it: the number of characters without white space. The limits are %d for a managed policy, "+
			"%d for all inline policies of a role together, and %d for a trust policy.", policy.MaxManaged, policy.MaxInline, policy.MaxTrust),
		Parameters: []function.Parameter{function.StringParameter{Name: "policy", MarkdownDescription: "The policy, as JSON."}},
		Return:     function.Int64Return{},
	}, runPolicySize}
}

func runPolicySize(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	resp.Error = resp.Result.Set(ctx, int64(policy.Size(text)))
}
