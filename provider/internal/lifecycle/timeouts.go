package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// OperationLimit returns the time limit of an operation from the configuration, or else the given
// default. timeouts.Value.Create is one.
type OperationLimit func(context.Context, time.Duration) (time.Duration, diag.Diagnostics)

// WithLimit sets the time limit of an operation from the configuration, or else the default, where 0
// means no limit.
func WithLimit(ctx context.Context, limit OperationLimit, otherwise time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	longest, found := limit(ctx, otherwise)
	diags.Append(found...)
	if longest == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longest)
}

// TimeoutsBlock returns the block timeouts of a resource.
func TimeoutsBlock(ctx context.Context, opts timeouts.Opts) map[string]schema.Block {
	block := timeouts.Block(ctx, opts).(schema.SingleNestedBlock)
	for name, inner := range block.Attributes {
		limit := inner.(schema.StringAttribute)
		limit.Validators = append(slices.Clone(limit.Validators), notNegative{})
		block.Attributes[name] = limit
	}
	return map[string]schema.Block{"timeouts": block}
}

// notNegative refuses negative durations, with which an operation would fail before it begins.
type notNegative struct{}

func (notNegative) Description(context.Context) string { return "a duration that is not negative" }

func (v notNegative) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (notNegative) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if limit, err := time.ParseDuration(req.ConfigValue.ValueString()); err == nil && limit < 0 {
		resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("%s: %q is negative", req.Path, req.ConfigValue.ValueString()), "Set a duration such as \"5m\".")
	}
}

// Timeouts reads the block timeouts.
func Timeouts(ctx context.Context, get getAttribute, diags *diag.Diagnostics) timeouts.Value {
	var set timeouts.Value
	diags.Append(get(ctx, path.Root("timeouts"), &set)...)
	return set
}
