// Package notices reads the events about machines that EventBridge sends to an SQS queue.
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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const (
	// longPoll is how many seconds a request waits for the first message: SQS's maximum.
	longPoll = 20
	// maxBatch is the largest number of messages in one request, set by SQS.
	maxBatch = 10
)

// Queue is the SQS queue to which EventBridge sends events about machines. It is safe for
// concurrent use.
type Queue struct {
	name   string
	client *sqs.Client

	mu  sync.Mutex
	url *string // nil until it is known
}

// New returns the queue with the name. It makes no request.
func New(cfg awssdk.Config, name string) *Queue {
	return &Queue{name: name, client: sqs.NewFromConfig(connect.ForLongPolls(cfg), func(o *sqs.Options) { o.Retryer = retry.NewStandard(client.Retries) })}
}

// Receive returns up to 10 notices from the queue. It waits up to 20 seconds for the first,
// and returns none if none arrives. A notice that is not acknowledged within the queue's
// visibility timeout will be received again.
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

// Acknowledge deletes notices from the queue. The caller must have recorded what they require.
// It succeeds if a notice has been deleted already.
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

// problem names the operation that failed. If the queue is gone, it forgets the URL: a new
// queue of the same name may have another.
func (q *Queue) problem(operation string, err error) error {
	if _, gone := errors.AsType[*types.QueueDoesNotExist](err); gone {
		q.mu.Lock()
		q.url = nil
		q.mu.Unlock()
	}
	return fmt.Errorf("%s queue %s: %w", operation, q.name, err)
}
