package lifecycle

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
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

// Timeouts reads the block timeouts.
func Timeouts(ctx context.Context, get getAttribute, diags *diag.Diagnostics) timeouts.Value {
	var set timeouts.Value
	diags.Append(get(ctx, path.Root("timeouts"), &set)...)
	return set
}
