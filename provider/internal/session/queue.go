package session

import "context"

// Queue is the declared state of an SQS queue.
type Queue struct {
	Name   string
	Policy string
	// Retention is for how many seconds a message is kept, Visibility for how
	// many it is hidden from others while it is worked on.
	Retention, Visibility int64
	// Key names the KMS key, empty for a key that SQS manages.
	Key  string
	Tags map[string]string
}

// Rule is the declared state of an EventBridge rule that puts events on a queue.
type Rule struct {
	Name        string
	Description string
	Pattern     string
	Queue       string // its ARN
	Tags        map[string]string
}

// Queues keeps queues and the rules that fill them. A queue that is not there is
// fs.ErrNotExist, one that is there already fs.ErrExist.
type Queues interface {
	Create(context.Context, Queue) (url string, err error)
	Read(ctx context.Context, name string) (queue Queue, url, arn string, err error)
	Update(ctx context.Context, url string, before, now Queue) error
	Delete(ctx context.Context, name, url string) error

	// PutRule brings a rule from one state, which is nothing for a new one, to
	// another.
	PutRule(ctx context.Context, before, now Rule) (arn string, err error)
	// ReadRule returns the ARN of a rule that does what is declared, else "".
	ReadRule(context.Context, Rule) (arn string, err error)
	DeleteRule(ctx context.Context, name string) error
	// Fed returns the names of the rules with the patterns, in order, by the ARN of
	// the queue that they put events on.
	Fed(ctx context.Context, patterns []string) (map[string][]string, error)
}
