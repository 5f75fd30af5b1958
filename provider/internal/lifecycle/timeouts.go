package lifecycle

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// OperationLimit returns how long an operation may take, such as
// timeouts.Value.Create.
type OperationLimit func(context.Context, time.Duration) (time.Duration, diag.Diagnostics)

// WithLimit bounds an operation by what the configuration says, or else by the
// default; 0 is no bound.
func WithLimit(ctx context.Context, limit OperationLimit, otherwise time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	longest := value.Collect(limit(ctx, otherwise))(diags)
	if longest == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longest)
}

// Timeouts reads the block timeouts.
func Timeouts(ctx context.Context, get func(context.Context, path.Path, any) diag.Diagnostics, diags *diag.Diagnostics) timeouts.Value {
	var set timeouts.Value
	diags.Append(get(ctx, path.Root("timeouts"), &set)...)
	return set
}
