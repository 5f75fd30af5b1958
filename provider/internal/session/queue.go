package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Queues keeps queues and the rules that fill them. A queue that is not there is
// fs.ErrNotExist, one that is there already fs.ErrExist.
type Queues interface {
	Create(context.Context, asset.Queue) (url string, err error)
	Read(ctx context.Context, name string) (queue asset.Queue, url, arn string, err error)
	Update(ctx context.Context, url string, before, now asset.Queue) error
	Delete(ctx context.Context, name, url string) error

	// PutRule brings a rule from one state, which is nothing for a new one, to
	// another.
	PutRule(ctx context.Context, before, now asset.Rule) (arn string, err error)
	// ReadRule returns the ARN of a rule that does what is declared, else "".
	ReadRule(context.Context, asset.Rule) (arn string, err error)
	DeleteRule(ctx context.Context, name string) error
	// Fed returns the names of the rules with the patterns, in order, by the ARN of
	// the queue that they put events on.
	Fed(ctx context.Context, patterns []string) (map[string][]string, error)
}
