package cloud

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// eventsMaySend is the least policy with which rules reach a queue.
func (c *Cloud) eventsMaySend(name string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},`+
		`"Action":"sqs:SendMessage","Resource":%q}]}`, c.queueARN(name))
}

// checkQueuePolicy refuses what SQS refuses. No policy is fine.
func checkQueuePolicy(text string) error {
	if text == "" {
		return nil
	}
	if _, err := policy.Parse(text, policy.Resource); err != nil {
		return fail("InvalidAttributeValue", "Invalid value for the parameter Policy.")
	}
	return nil
}

// admits tells whether the queue's own policy lets a rule of EventBridge send to
// it. Without one nobody but the account's own principals may.
func (c *Cloud) admits(q *queue, r *rule) bool {
	document, err := policy.Parse(q.attributes["Policy"], policy.Resource)
	if err != nil {
		return false
	}
	return policy.Evaluate([]policy.Document{document}, policy.Request{
		Action: "sqs:SendMessage", Resource: c.queueARN(q.name), Principal: policy.Principal{Kind: "Service", Name: "events.amazonaws.com"},
		Context: policy.ContextKeys{
			"aws:SourceArn": {c.ruleARN(r.name)}, "aws:SourceAccount": {c.account}, "aws:SecureTransport": {"true"},
		},
	}) == policy.Allowed
}

func (c *Cloud) tagQueue(_ *call, in *sqs.TagQueueInput) (*sqs.TagQueueOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.TagQueueOutput{}, retag(q.tags, in.Tags, nil)
}

func (c *Cloud) untagQueue(_ *call, in *sqs.UntagQueueInput) (*sqs.UntagQueueOutput, error) {
	q, err := c.findQueue(in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return &sqs.UntagQueueOutput{}, retag(q.tags, nil, in.TagKeys)
}
