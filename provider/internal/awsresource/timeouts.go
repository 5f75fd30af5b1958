package awsresource

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// Timeouts returns the block timeouts of a resource in AWS.
func Timeouts(ctx context.Context) map[string]schema.Block {
	const lag = ", such as `5m`. This includes waiting until AWS has become consistent. By default, there is no limit for the whole, and each wait lasts at most 75 seconds."
	return lifecycle.TimeoutsBlock(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long the creation may take" + lag,
		Update: true, UpdateDescription: "How long an update may take" + lag,
		Delete: true, DeleteDescription: "How long the deletion may take" + lag,
	})
}
