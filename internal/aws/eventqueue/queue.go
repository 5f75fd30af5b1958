// Package eventqueue manages SQS queues and the EventBridge rules that send events to
// them.
package eventqueue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

const (
	// deletionLag limits the waits for a deletion, for callers that set no limit. SQS takes up to
	// 60 seconds to delete a queue and to release its name.
	deletionLag = 75 * time.Second
	// goneAnswers is how many times in a row SQS must answer that a queue does not exist. Its
	// servers do not learn of a deletion at the same time.
	goneAnswers = 3
)

// errKept means that SQS still has a queue that was deleted.
var errKept = errors.New("SQS still answers as if it existed")

// Queues manages queues and rules in one account and region.
type Queues struct {
	sqs    *sqs.Client
	events *eventbridge.Client
}

// NewQueues manages the queues and rules of the clients' account and region.
func NewQueues(queues *sqs.Client, events *eventbridge.Client) *Queues {
	return &Queues{queues, events}
}

// Create creates the queue and returns its URL. If a queue of the name exists, the error is
// fs.ErrExist. If one was deleted less than a minute ago, Create waits until SQS releases
// the name.
func (q *Queues) Create(ctx context.Context, queue asset.Queue) (url string, err error) {
	// If a queue with the same attributes exists, CreateQueue succeeds.
	switch _, err := q.url(ctx, queue.Name); {
	case err == nil:
		return "", fmt.Errorf("create queue %q: %w", queue.Name, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("create queue %q: %w", queue.Name, err)
	}
	var out *sqs.CreateQueueOutput
	err = call.EventuallyWithin(ctx, deletionLag, is[*types.QueueDeletedRecently], func(ctx context.Context) (err error) {
		out, err = q.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(queue.Name), Attributes: attributesOf(queue), Tags: queue.Tags})
		return err
	})
	if is[*types.QueueNameExists](err) {
		return "", fmt.Errorf("create queue %q: %w", queue.Name, fs.ErrExist)
	}
	if err != nil {
		return "", fmt.Errorf("create queue %q: %w", queue.Name, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

func attributesOf(q asset.Queue) map[string]string {
	out := map[string]string{
		string(types.QueueAttributeNamePolicy):                 q.Policy,
		string(types.QueueAttributeNameMessageRetentionPeriod): strconv.FormatInt(q.Retention, 10),
		string(types.QueueAttributeNameVisibilityTimeout):      strconv.FormatInt(q.Visibility, 10),
	}
	if q.Key != "" {
		out[string(types.QueueAttributeNameKmsMasterKeyId)] = q.Key
	} else {
		out[string(types.QueueAttributeNameSqsManagedSseEnabled)] = strconv.FormatBool(!q.Plain)
	}
	return out
}

// Read returns the queue, its URL and its ARN. If there is no such queue, the error is
// fs.ErrNotExist.
func (q *Queues) Read(ctx context.Context, name string) (live asset.Queue, url, arn string, err error) {
	if url, err = q.url(ctx, name); err != nil {
		return asset.Queue{}, "", "", err
	}
	attributes, err := q.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(url), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return asset.Queue{}, "", "", readError(name, err)
	}
	if len(attributes.Attributes) == 0 {
		return asset.Queue{}, "", "", fmt.Errorf("read queue %q: SQS returned no attributes", name)
	}
	tags, err := q.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: aws.String(url)})
	if err != nil {
		return asset.Queue{}, "", "", readError(name, err)
	}
	got := attributes.Attributes
	live = asset.Queue{
		Name: name, Policy: got[string(types.QueueAttributeNamePolicy)], Key: got[string(types.QueueAttributeNameKmsMasterKeyId)],
		Retention:  seconds(got[string(types.QueueAttributeNameMessageRetentionPeriod)]),
		Visibility: seconds(got[string(types.QueueAttributeNameVisibilityTimeout)]),
		Plain:      got[string(types.QueueAttributeNameKmsMasterKeyId)] == "" && got[string(types.QueueAttributeNameSqsManagedSseEnabled)] == "false",
		Tags:       tags.Tags,
	}
	return live, url, got[string(types.QueueAttributeNameQueueArn)], nil
}

// seconds parses a whole number of seconds. Text that is none, which SQS does not send, is
// 0.
func seconds(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (q *Queues) url(ctx context.Context, name string) (string, error) {
	out, err := q.sqs.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
	if err != nil {
		return "", readError(name, err)
	}
	return aws.ToString(out.QueueUrl), nil
}

// is reports whether err is an error of SQS of the type. Its code cannot be compared: if
// SQS also sends the code of its former query protocol, the SDK reports that one.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

func readError(name string, err error) error {
	if is[*types.QueueDoesNotExist](err) {
		return fmt.Errorf("read queue %q: %w", name, fs.ErrNotExist)
	}
	return fmt.Errorf("read queue %q: %w", name, err)
}

// Update changes a queue from the declaration before to the declaration now. Tags that are
// in neither stay as they are.
func (q *Queues) Update(ctx context.Context, url string, before, now asset.Queue) error {
	was, is := attributesOf(before), attributesOf(now)
	if before.Key != "" && now.Key == "" {
		is[string(types.QueueAttributeNameKmsMasterKeyId)] = ""
	}
	if !maps.Equal(was, is) {
		if _, err := q.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: aws.String(url), Attributes: is}); err != nil {
			return fmt.Errorf("set the attributes of queue %q: %w", now.Name, err)
		}
	}
	return call.Retag(call.Tagging{What: fmt.Sprintf("queue %q", now.Name), Before: before.Tags, Now: now.Tags}, func() error {
		return call.Change(ctx, nil, q.sqs.TagQueue, &sqs.TagQueueInput{QueueUrl: aws.String(url), Tags: now.Tags})
	}, func(keys []string) error {
		return call.Change(ctx, nil, q.sqs.UntagQueue, &sqs.UntagQueueInput{QueueUrl: aws.String(url), TagKeys: keys})
	})
}

// Delete deletes the queue and its messages, and waits until it is gone, so that a new queue
// of the name does not count as one that already exists. It succeeds if there is no such queue.
func (q *Queues) Delete(ctx context.Context, name, url string) error {
	_, err := q.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String(url)})
	if is[*types.QueueDoesNotExist](err) {
		return nil
	}
	if err == nil {
		err = q.awaitDeletion(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("delete queue %q: %w", name, err)
	}
	return nil
}

func (q *Queues) awaitDeletion(ctx context.Context, name string) error {
	kept := func(err error) bool { return errors.Is(err, errKept) }
	missed := 0
	return call.EventuallyWithin(ctx, deletionLag, kept, func(ctx context.Context) error {
		_, err := q.url(ctx, name)
		switch {
		case err == nil:
			missed = 0
			return errKept
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if missed++; missed < goneAnswers {
			return errKept
		}
		return nil
	})
}
