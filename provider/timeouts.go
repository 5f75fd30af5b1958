package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// callLimit is how long it may take to declare an object to the cluster.
const callLimit = 2 * time.Minute

// objectTimeouts are the timeouts of a custom resource.
func objectTimeouts(ctx context.Context, deletion string) map[string]schema.Block {
	return map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long to try to create the object, such as `5m`. 2 minutes by default.",
		Update: true, UpdateDescription: "How long to try to update the object, such as `5m`. 2 minutes by default.",
		Delete: true, DeleteDescription: deletion,
	})}
}

// awsTimeouts are the timeouts of a resource in AWS.
func awsTimeouts(ctx context.Context) map[string]schema.Block {
	const lag = ", such as `5m`, including waiting until the change is visible everywhere in AWS. By default each of these waits lasts at most 45 seconds."
	return map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long the creation may take" + lag,
		Update: true, UpdateDescription: "How long an update may take" + lag,
		Delete: true, DeleteDescription: "How long the deletion may take" + lag,
	})}
}

// operationLimit returns how long an operation may take, such as
// timeouts.Value.Create.
type operationLimit func(context.Context, time.Duration) (time.Duration, diag.Diagnostics)

// limited bounds an operation by what the configuration says, or else by the
// default; 0 is no bound.
func limited(ctx context.Context, limit operationLimit, otherwise time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	longest := collect(limit(ctx, otherwise))(diags)
	if longest == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, longest)
}

// timeoutsOf reads the block timeouts.
func timeoutsOf(ctx context.Context, get func(context.Context, path.Path, any) diag.Diagnostics, diags *diag.Diagnostics) timeouts.Value {
	var set timeouts.Value
	diags.Append(get(ctx, path.Root("timeouts"), &set)...)
	return set
}
