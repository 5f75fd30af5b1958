package sqs

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Limits of SQS.
const (
	maxMessageSize = 1 << 20 // bytes
	maxLongPoll    = 20      // seconds
	maxReceive     = 10      // messages at a time
)

// Queue is a standard queue.
type Queue struct {
	name       string
	created    time.Time
	Attributes map[string]string
	tags       map[string]string
	messages   []*message
	arrived    chan struct{} // closed and replaced when there is something new
}

type message struct {
	id, body  string
	receipt   string // of the latest receipt
	sent      time.Time
	hidden    time.Time // until when it is invisible
	received  int
	firstSeen time.Time
}

// NewQueue returns an empty queue, created now, with the attributes that AWS gives a queue
// by default.
func NewQueue(name string, now time.Time) *Queue {
	return &Queue{
		name: name, created: now, tags: map[string]string{}, arrived: make(chan struct{}),
		Attributes: map[string]string{
			"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600", "DelaySeconds": "0", "MaximumMessageSize": strconv.Itoa(maxMessageSize),
			"ReceiveMessageWaitTimeSeconds": "0", "SqsManagedSseEnabled": "true",
		},
	}
}

// attributeRanges are the numeric attributes and what they may be.
func attributeRanges() map[string][2]int {
	return map[string][2]int{
		"VisibilityTimeout": {0, 43_200}, "MessageRetentionPeriod": {60, 1_209_600}, "DelaySeconds": {0, 900},
		"MaximumMessageSize": {1_024, maxMessageSize}, "ReceiveMessageWaitTimeSeconds": {0, maxLongPoll}, "KmsDataKeyReusePeriodSeconds": {60, 86_400},
	}
}

// set validates and stores attributes; an empty value of a text removes it.
func (q *Queue) set(attributes map[string]string) error {
	texts := []string{"Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId", "SqsManagedSseEnabled"}
	for name, value := range attributes {
		if bounds, numeric := attributeRanges()[name]; numeric {
			n, err := strconv.Atoi(value)
			if err != nil || n < bounds[0] || n > bounds[1] {
				return account.Fail("InvalidAttributeValue", "Invalid value for the parameter %s.", name)
			}
		} else if !slices.Contains(texts, name) {
			return account.Fail("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	if err := checkQueuePolicy(attributes["Policy"]); err != nil {
		return err
	}
	maps.Copy(q.Attributes, attributes)
	maps.DeleteFunc(q.Attributes, func(_, value string) bool { return value == "" })
	return nil
}

// agreesWith tells whether creating the queue again with these attributes is
// harmless.
func (q *Queue) agreesWith(attributes map[string]string) bool {
	for name, value := range attributes {
		if q.Attributes[name] != value {
			return false
		}
	}
	return true
}

func (q *Queue) describe(now time.Time) map[string]string {
	visible, hidden := 0, 0
	for _, m := range q.messages {
		if m.hidden.After(now) {
			hidden++
		} else {
			visible++
		}
	}
	all := maps.Clone(q.Attributes)
	all["ApproximateNumberOfMessages"] = strconv.Itoa(visible)
	all["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(hidden)
	all["ApproximateNumberOfMessagesDelayed"] = "0"
	all["CreatedTimestamp"] = strconv.FormatInt(q.created.Unix(), 10)
	all["LastModifiedTimestamp"] = all["CreatedTimestamp"]
	return all
}

// wake tells those who wait for a message to look again.
func (q *Queue) wake() {
	close(q.arrived)
	q.arrived = make(chan struct{})
}

// Put puts a message on a queue. The services of AWS that write to queues,
// such as the warnings that a spot instance is about to be reclaimed, come in
// here.
func (c *SQS) Put(q *Queue, body string) *message {
	m := &message{id: c.NewUUID(), body: body, sent: c.Wall()}
	q.messages = append(q.messages, m)
	q.wake()
	return m
}

func (c *SQS) sendMessage(q *Queue, in *sqs.SendMessageInput) (*sqs.SendMessageOutput, error) {
	body := account.Deref(in.MessageBody)
	if body == "" || len(body) > maxMessageSize {
		return nil, account.Fail("InvalidParameterValue", "The message body must be between 1 and %d bytes long.", maxMessageSize)
	}
	m := c.Put(q, body)
	return &sqs.SendMessageOutput{MessageId: &m.id, MD5OfMessageBody: aws.String(md5Of(body))}, nil
}

func md5Of(text string) string {
	sum := md5.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// receiveMessage waits up to the given time for messages, without the cloud's
// lock.
func (c *SQS) receiveMessage(caller *account.Caller, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	if n := in.MaxNumberOfMessages; n < 0 || n > maxReceive {
		return nil, account.Fail("InvalidParameterValue", "Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.", n)
	}
	if in.WaitTimeSeconds < 0 || in.WaitTimeSeconds > maxLongPoll {
		return nil, account.Fail("InvalidParameterValue", "Value %d for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", in.WaitTimeSeconds)
	}
	var deadline time.Time
	for {
		found, arrived, wait, err := c.takeMessages(in)
		if err != nil || len(found) > 0 {
			return &sqs.ReceiveMessageOutput{Messages: found}, err
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(wait)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return &sqs.ReceiveMessageOutput{}, nil
		}
		if err := awaitArrival(caller.Ctx, arrived, min(left, visibilityCheck)); err != nil {
			return nil, err
		}
	}
}

// visibilityCheck is how often a long poll looks whether a message that was in
// flight has become visible again.
const visibilityCheck = time.Second

// awaitArrival returns when there is something new or after a while.
func awaitArrival(ctx context.Context, arrived <-chan struct{}, atMost time.Duration) error {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// takeMessages hides and returns what is visible now, the channel that tells
// of new messages, and how long the caller wants to wait for them.
func (c *SQS) takeMessages(in *sqs.ReceiveMessageInput) (found []types.Message, arrived chan struct{}, wait time.Duration, err error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, nil, 0, err
	}
	now := c.Wall()
	timeout := seconds(q.Attributes["VisibilityTimeout"])
	if in.VisibilityTimeout > 0 {
		timeout = time.Duration(in.VisibilityTimeout) * time.Second
	}
	for _, m := range q.messages {
		if len(found) >= max(1, int(in.MaxNumberOfMessages)) {
			break
		}
		if m.hidden.After(now) {
			continue
		}
		found = append(found, c.receive(m, now, timeout))
	}
	wait = time.Duration(in.WaitTimeSeconds) * time.Second
	if wait == 0 {
		wait = seconds(q.Attributes["ReceiveMessageWaitTimeSeconds"])
	}
	return found, q.arrived, wait, nil
}

func (c *SQS) receive(m *message, now time.Time, timeout time.Duration) types.Message {
	m.hidden = now.Add(timeout)
	m.receipt = c.NewToken(64)
	m.received++
	if m.firstSeen.IsZero() {
		m.firstSeen = now
	}
	receipt := m.receipt
	return types.Message{
		MessageId: &m.id, Body: &m.body, ReceiptHandle: &receipt, MD5OfBody: aws.String(md5Of(m.body)),
		Attributes: map[string]string{
			"SentTimestamp": strconv.FormatInt(m.sent.UnixMilli(), 10), "ApproximateReceiveCount": strconv.Itoa(m.received),
			"ApproximateFirstReceiveTimestamp": strconv.FormatInt(m.firstSeen.UnixMilli(), 10),
		},
	}
}

func seconds(text string) time.Duration {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// deleteMessage is no error for a message that is gone.
func (c *SQS) deleteMessage(q *Queue, in *sqs.DeleteMessageInput) (*sqs.DeleteMessageOutput, error) {
	if account.Deref(in.ReceiptHandle) == "" {
		return nil, account.Fail("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool { return m.receipt == *in.ReceiptHandle })
	return &sqs.DeleteMessageOutput{}, nil
}

// maxBatch is how many messages one call deletes at most.
const maxBatch = 10

// deleteMessageBatch answers for each entry by itself.
func (c *SQS) deleteMessageBatch(q *Queue, in *sqs.DeleteMessageBatchInput) (*sqs.DeleteMessageBatchOutput, error) {
	switch n := len(in.Entries); {
	case n == 0:
		return nil, account.Fail("EmptyBatchRequest", "There should be at least one DeleteMessageBatchRequestEntry in the request.")
	case n > maxBatch:
		return nil, account.Fail("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", maxBatch, n)
	}
	out := &sqs.DeleteMessageBatchOutput{Successful: []types.DeleteMessageBatchResultEntry{}, Failed: []types.BatchResultErrorEntry{}}
	seen := map[string]bool{}
	for _, entry := range in.Entries {
		if seen[account.Deref(entry.Id)] {
			return nil, account.Fail("BatchEntryIdsNotDistinct", "Id %s repeated.", account.Deref(entry.Id))
		}
		seen[account.Deref(entry.Id)] = true
	}
	for _, entry := range in.Entries {
		_, err := c.deleteMessage(q, &sqs.DeleteMessageInput{ReceiptHandle: entry.ReceiptHandle})
		if problem, refused := errors.AsType[*account.APIError](err); refused {
			out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: entry.Id, Code: &problem.Code, Message: &problem.Message, SenderFault: true})
			continue
		}
		out.Successful = append(out.Successful, types.DeleteMessageBatchResultEntry{Id: entry.Id})
	}
	return out, nil
}
