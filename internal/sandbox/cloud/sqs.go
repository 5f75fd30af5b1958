package cloud

import (
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

func newSQS() *service {
	s := &service{
		name:       "sqs",
		protocol:   jsonProtocol{names: wire.PascalNames, contentType: "application/x-amz-json-1.0"},
		words:      jsonDialect(),
		operations: map[string]operation{},
	}
	add(s, accessesOfCreateQueue, (*Cloud).createQueue)
	add(s, accessesOfGetQueueURL, (*Cloud).getQueueURL)
	add(s, onAnything[sqs.ListQueuesInput]("sqs:ListQueues"), (*Cloud).listQueues)
	add(s, onQueue[sqs.DeleteQueueInput]("sqs:DeleteQueue"), (*Cloud).deleteQueue)
	add(s, onQueue[sqs.GetQueueAttributesInput]("sqs:GetQueueAttributes"), (*Cloud).getQueueAttributes)
	add(s, onQueue[sqs.SetQueueAttributesInput]("sqs:SetQueueAttributes"), (*Cloud).setQueueAttributes)
	add(s, onQueue[sqs.ListQueueTagsInput]("sqs:ListQueueTags"), (*Cloud).listQueueTags)
	add(s, onQueue[sqs.TagQueueInput]("sqs:TagQueue"), (*Cloud).tagQueue)
	add(s, onQueue[sqs.UntagQueueInput]("sqs:UntagQueue"), (*Cloud).untagQueue)
	add(s, onQueue[sqs.SendMessageInput]("sqs:SendMessage"), (*Cloud).sendMessage)
	add(s, onQueue[sqs.ReceiveMessageInput]("sqs:ReceiveMessage"), (*Cloud).receiveMessage)
	add(s, onQueue[sqs.DeleteMessageInput]("sqs:DeleteMessage"), (*Cloud).deleteMessage)
	add(s, onQueue[sqs.DeleteMessageBatchInput]("sqs:DeleteMessage"), (*Cloud).deleteMessageBatch)
	change[sqs.ReceiveMessageInput](s, func(op *operation) { op.waits = true })
	return s
}

func (c *Cloud) queueARN(name string) string {
	return "arn:aws:sqs:" + c.region + ":" + c.account + ":" + name
}

// queueURL puts the queue under the address by which the cloud is reached.
func (c *Cloud) queueURL(caller *call, name string) string {
	base := c.endpoint
	if base == "" {
		base = caller.endpoint
	}
	return strings.TrimSuffix(base, "/") + "/" + c.account + "/" + name
}

func queueName(url *string) string {
	return deref(url)[strings.LastIndex(deref(url), "/")+1:]
}

func accessesOfCreateQueue(c *Cloud, in *sqs.CreateQueueInput) []access {
	return []access{{action: "sqs:CreateQueue", resource: c.queueARN(deref(in.QueueName)), context: requestTags(in.Tags)}}
}

func accessesOfGetQueueURL(c *Cloud, in *sqs.GetQueueUrlInput) []access {
	return []access{{action: "sqs:GetQueueUrl", resource: c.queueARN(deref(in.QueueName))}}
}

// onQueue is the permission for a call about the queue named by QueueUrl.
func onQueue[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		url := textMember(input, "QueueUrl")
		name := queueName(&url)
		keys := policy.ContextKeys{}
		if q := c.queues[name]; q != nil {
			keys = resourceTags("", q.tags)
		}
		return []access{{action: action, resource: c.queueARN(name), context: keys}}
	}
}

var queueNameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,80}$`)

func (c *Cloud) findQueue(url *string) (*queue, error) {
	q := c.queues[queueName(url)]
	if q == nil {
		return nil, fail("QueueDoesNotExist", "The specified queue does not exist.")
	}
	return q, nil
}

func (c *Cloud) createQueue(caller *call, in *sqs.CreateQueueInput) (*sqs.CreateQueueOutput, error) {
	name := deref(in.QueueName)
	if !queueNameForm.MatchString(name) {
		return nil, fail("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length")
	}
	wanted := newQueue(name, c.now())
	if err := wanted.set(in.Attributes); err != nil {
		return nil, err
	}
	maps.Copy(wanted.tags, in.Tags)
	if existing := c.queues[name]; existing == nil {
		c.queues[name] = wanted
	} else if !existing.agreesWith(in.Attributes) {
		return nil, fail("QueueNameExists", "A queue already exists with the same name and a different value for an attribute")
	}
	return &sqs.CreateQueueOutput{QueueUrl: aws.String(c.queueURL(caller, name))}, nil
}

func (c *Cloud) getQueueURL(caller *call, in *sqs.GetQueueUrlInput) (*sqs.GetQueueUrlOutput, error) {
	if _, err := c.findQueue(in.QueueName); err != nil {
		return nil, err
	}
	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String(c.queueURL(caller, *in.QueueName))}, nil
}

func (c *Cloud) listQueues(caller *call, in *sqs.ListQueuesInput) (*sqs.ListQueuesOutput, error) {
	urls := []string{}
	for _, name := range sortedKeys(c.queues) {
		if strings.HasPrefix(name, deref(in.QueueNamePrefix)) {
			urls = append(urls, c.queueURL(caller, name))
		}
	}
	return &sqs.ListQueuesOutput{QueueUrls: urls}, nil
}

func (c *Cloud) deleteQueue(_ *call, in *sqs.DeleteQueueInput) (*sqs.DeleteQueueOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	delete(c.queues, q.name)
	q.wake()
	return &sqs.DeleteQueueOutput{}, nil
}

func (c *Cloud) getQueueAttributes(_ *call, in *sqs.GetQueueAttributesInput) (*sqs.GetQueueAttributesOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	all := q.describe(c.wall())
	all["QueueArn"] = c.queueARN(q.name)
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

func (c *Cloud) setQueueAttributes(_ *call, in *sqs.SetQueueAttributesInput) (*sqs.SetQueueAttributesOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.SetQueueAttributesOutput{}, q.set(in.Attributes)
}

func (c *Cloud) listQueueTags(_ *call, in *sqs.ListQueueTagsInput) (*sqs.ListQueueTagsOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.ListQueueTagsOutput{Tags: q.tags}, nil
}
