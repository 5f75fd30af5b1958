package customresource

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// callLimit is the default time limit for creating or updating an object.
const callLimit = 2 * time.Minute

// Timeouts returns the block timeouts of a custom resource, with a description of the deletion's.
func Timeouts(ctx context.Context, deletion string) map[string]schema.Block {
	return lifecycle.TimeoutsBlock(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long to try to create the object, such as `5m`. 2 minutes by default.",
		Update: true, UpdateDescription: "How long to try to update the object, such as `5m`. 2 minutes by default.",
		Delete: true, DeleteDescription: deletion,
	})
}
