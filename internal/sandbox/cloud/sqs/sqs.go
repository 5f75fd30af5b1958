// Package sqs is a model of SQS.
package sqs

import (
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// SQS is the service with the account's queues.
type SQS struct {
	*account.Account
	Queues map[string]*Queue // by name
}

// New returns the service.
func New(a *account.Account) *SQS { return &SQS{a, map[string]*Queue{}} }

// Service returns the calls that it answers.
func (c *SQS) Service() *account.Service {
	s := &account.Service{
		Target: "AmazonSQS",
		Name:   "sqs",
		Protocol: account.JSONProtocol{Names: wire.PascalNames, ContentType: "application/x-amz-json-1.0", QueryCodes: map[string]string{
			"QueueDoesNotExist":    "AWS.SimpleQueueService.NonExistentQueue",
			"QueueDeletedRecently": "AWS.SimpleQueueService.QueueDeletedRecently",
			"QueueNameExists":      "QueueAlreadyExists",
		}},
		Words:      account.JSONDialect(),
		Operations: map[string]account.Operation{},
	}
	account.Add(s, c, accessesOfCreateQueue, (*SQS).createQueue)
	account.Add(s, c, accessesOfGetQueueURL, (*SQS).getQueueURL)
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).deleteQueue))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).getQueueAttributes))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).setQueueAttributes))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).listQueueTags))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).tagQueue))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).untagQueue))
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).sendMessage))
	account.AddOn(s, c, onQueue, (*SQS).receiveMessage)
	account.AddOn(s, c, onQueue, account.Found(queueIn, (*SQS).deleteMessage))
	account.Add(s, c, onQueue[sqs.DeleteMessageBatchInput]("sqs:DeleteMessage"), account.Found(queueIn, (*SQS).deleteMessageBatch))
	account.Change[sqs.ReceiveMessageInput](s, func(op *account.Operation) { op.Waits = true })
	return s
}

// QueueARN returns the ARN that a queue of that name has, whether or not it exists.
func (c *SQS) QueueARN(name string) string {
	return "arn:aws:sqs:" + c.Region + ":" + c.AccountID + ":" + name
}

// queueURL puts the queue under the address by which the cloud is reached.
func (c *SQS) queueURL(caller *account.Caller, name string) string {
	base := c.Endpoint
	if base == "" {
		base = caller.Endpoint
	}
	return strings.TrimSuffix(base, "/") + "/" + c.AccountID + "/" + name
}

func queueName(url *string) string {
	return account.Deref(url)[strings.LastIndex(account.Deref(url), "/")+1:]
}

func accessesOfCreateQueue(c *SQS, in *sqs.CreateQueueInput) []account.Access {
	return []account.Access{{Action: "sqs:CreateQueue", Resource: c.QueueARN(account.Deref(in.QueueName)), Context: account.RequestTags(in.Tags)}}
}

func accessesOfGetQueueURL(c *SQS, in *sqs.GetQueueUrlInput) []account.Access {
	return []account.Access{{Action: "sqs:GetQueueUrl", Resource: c.QueueARN(account.Deref(in.QueueName))}}
}

// onQueue is the permission for a call about the queue named by QueueUrl.
func onQueue[In any](action string) func(*SQS, *In) []account.Access {
	return func(c *SQS, input *In) []account.Access {
		url := account.TextMember(input, "QueueUrl")
		name := queueName(&url)
		keys := policy.ContextKeys{}
		if q := c.Queues[name]; q != nil {
			keys = account.ResourceTags("", q.tags)
		}
		return []account.Access{{Action: action, Resource: c.QueueARN(name), Context: keys}}
	}
}

var queueNameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,80}$`)

func queueIn[In any](c *SQS, in *In) (*Queue, error) {
	url := account.TextMember(in, "QueueUrl")
	return c.findQueue(&url)
}

func (c *SQS) findQueue(url *string) (*Queue, error) {
	q := c.Queues[queueName(url)]
	if q == nil {
		return nil, account.Fail("QueueDoesNotExist", "The specified queue does not exist.")
	}
	return q, nil
}

func (c *SQS) createQueue(caller *account.Caller, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) {
	name := account.Deref(in.QueueName)
	if !queueNameForm.MatchString(name) {
		return nil, account.Fail("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	wanted := NewQueue(name, c.Now())
	if err := wanted.set(in.Attributes); err != nil {
		return nil, err
	}
	maps.Copy(wanted.tags, in.Tags)
	if existing := c.Queues[name]; existing == nil {
		c.Queues[name] = wanted
	} else if !existing.agreesWith(in.Attributes) {
		return nil, account.Fail("QueueNameExists", "A queue already exists with the same name and a different value for an attribute")
	}
	return &sqs.CreateQueueOutput{QueueUrl: aws.String(c.queueURL(caller, name))}, nil
}

func (c *SQS) getQueueURL(caller *account.Caller, in *sqs.GetQueueUrlInput) (*sqs.GetQueueUrlOutput, error) {
	if _, err := c.findQueue(in.QueueName); err != nil {
		return nil, err
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String(c.queueURL(caller, *in.QueueName))}, nil
}

func (c *SQS) deleteQueue(q *Queue, _ *sqs.DeleteQueueInput) (*sqs.DeleteQueueOutput, error) {
	delete(c.Queues, q.name)
	q.wake()
	return &sqs.DeleteQueueOutput{}, nil
}

func (c *SQS) getQueueAttributes(q *Queue, in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	all := q.describe(c.Wall())
	all["QueueArn"] = c.QueueARN(q.name)
	out := &sqs.GetQueueAttributesOutput{Attributes: map[string]string{}}
	for _, name := range in.AttributeNames {
		if name == "All" {
			out.Attributes = all
			break
		}
		if value, ok := all[string(name)]; ok {
			out.Attributes[string(name)] = value
		}
	}
	return out, nil
}

func (c *SQS) setQueueAttributes(q *Queue, in *sqs.SetQueueAttributesInput) (*sqs.SetQueueAttributesOutput, error) {
	return &sqs.SetQueueAttributesOutput{}, q.set(in.Attributes)
}

func (c *SQS) listQueueTags(q *Queue, _ *sqs.ListQueueTagsInput) (*sqs.ListQueueTagsOutput, error) {
	return &sqs.ListQueueTagsOutput{Tags: q.tags}, nil
}
