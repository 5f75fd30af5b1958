package session

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
)

// Queues manages queues and the rules that send events to them. Errors are fs.ErrNotExist if there is no
// such queue, and fs.ErrExist if there is one already.
type Queues interface {
	Create(context.Context, asset.Queue) (url string, err error)
	Read(ctx context.Context, name string) (queue asset.Queue, url, arn string, err error)
	Update(ctx context.Context, url string, before, now asset.Queue) error
	Delete(ctx context.Context, name, url string) error

	// PutRule creates a rule, whose declaration before is zero, or changes it. The error is fs.ErrExist
	// if the name belongs to another rule.
	PutRule(ctx context.Context, before, now asset.Rule) (arn string, err error)
	// ReadRule returns the ARN of a rule that does what is declared, or an empty string.
	ReadRule(context.Context, asset.Rule) (arn string, err error)
	// RuleTaken reports whether there is a rule of the name that is not the queue's.
	RuleTaken(context.Context, asset.Rule) (bool, error)
	// DeleteRule deletes a rule if it belongs to the queue.
	DeleteRule(context.Context, asset.Rule) error
	// Fed returns the names of the rules with one of the patterns, sorted, by the ARN of the queue
	// to which they send events.
	Fed(ctx context.Context, patterns []string) (map[string][]string, error)
}
