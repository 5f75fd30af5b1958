// Package notices reads what EventBridge has put on a queue about machines.
package notices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const (
	// longPoll is how long SQS may wait for a message, in seconds; its maximum.
	longPoll = 20
	// maxBatch is how many messages SQS gives or deletes at a time.
	maxBatch = 10
)

// Queue is the SQS queue on which EventBridge puts what happens to machines. It
// is safe for concurrent use.
type Queue struct {
	name   string
	client *sqs.Client

	mu  sync.Mutex
	url *string // nil until it is known
}

// New returns the queue with the name. Nothing is asked of SQS yet.
func New(cfg awssdk.Config, name string) *Queue {
	return &Queue{name: name, client: sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.Retryer = retry.NewStandard(client.Retries) })}
}

// Receive returns what is on the queue; it waits up to 20 seconds for the first
// notice and returns none if none came. What was received is hidden for the
// queue's visibility timeout and comes again unless it is acknowledged.
func (q *Queue) Receive(ctx context.Context) ([]offer.Notice, error) {
	url, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	out, err := client.Invoke(ctx, q.client.ReceiveMessage, &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: maxBatch, WaitTimeSeconds: longPoll,
	})
	if err != nil {
		return nil, q.problem("receive messages of", err)
	}
	notices := make([]offer.Notice, len(out.Messages))
	for i, m := range out.Messages {
		notices[i] = readNotice(awssdk.ToString(m.Body))
		notices[i].Handle = awssdk.ToString(m.ReceiptHandle)
	}
	return notices, nil
}

// Acknowledge takes notices off the queue, once what they call for is recorded
// elsewhere. A notice that is not on the queue any more is no error.
func (q *Queue) Acknowledge(ctx context.Context, handles ...string) error {
	if len(handles) == 0 {
		return nil
	}
	url, err := q.find(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for batch := range slices.Chunk(handles, maxBatch) {
		problems = append(problems, q.remove(ctx, url, batch))
	}
	return errors.Join(problems...)
}

func (q *Queue) remove(ctx context.Context, url *string, handles []string) error {
	in := &sqs.DeleteMessageBatchInput{QueueUrl: url}
	for i, handle := range handles {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: awssdk.String(strconv.Itoa(i)), ReceiptHandle: &handle})
	}
	out, err := client.Invoke(ctx, q.client.DeleteMessageBatch, in)
	if err != nil {
		return q.problem("delete messages of", err)
	}
	if len(out.Failed) > 0 {
		first := out.Failed[0]
		return fmt.Errorf("delete messages of queue %s: %d of %d remained, the first for %s: %s",
			q.name, len(out.Failed), len(handles), awssdk.ToString(first.Code), awssdk.ToString(first.Message))
	}
	return nil
}

// find returns the queue's URL.
func (q *Queue) find(ctx context.Context) (*string, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.url != nil {
		return q.url, nil
	}
	out, err := client.Invoke(ctx, q.client.GetQueueUrl, &sqs.GetQueueUrlInput{QueueName: &q.name})
	if err != nil {
		return nil, fmt.Errorf("find queue %s: %w", q.name, err)
	}
	q.url = out.QueueUrl
	return q.url, nil
}

// problem says which operation failed. A queue that is gone may be made again
// under another URL.
func (q *Queue) problem(operation string, err error) error {
	if _, gone := errors.AsType[*types.QueueDoesNotExist](err); gone {
		q.mu.Lock()
		q.url = nil
		q.mu.Unlock()
	}
	return fmt.Errorf("%s queue %s: %w", operation, q.name, err)
}
