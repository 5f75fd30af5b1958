package customresource

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
)

// callLimit is how long it may take to declare an object to the cluster.
const callLimit = 2 * time.Minute

// Timeouts are the timeouts of a custom resource.
func Timeouts(ctx context.Context, deletion string) map[string]schema.Block {
	return map[string]schema.Block{"timeouts": timeouts.Block(ctx, timeouts.Opts{
		Create: true, CreateDescription: "How long to try to create the object, such as `5m`. 2 minutes by default.",
		Update: true, UpdateDescription: "How long to try to update the object, such as `5m`. 2 minutes by default.",
		Delete: true, DeleteDescription: deletion,
	})}
}
