package sqs

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// EventsMaySend is the least policy with which rules reach a queue.
func (c *SQS) EventsMaySend(name string) string {
	return fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},`+
		`"Action":"sqs:SendMessage","Resource":%q}]}`, c.QueueARN(name))
}

// checkQueuePolicy refuses what SQS refuses. No policy is fine.
func checkQueuePolicy(text string) error {
	if text == "" {
		return nil
	}
	if _, err := policy.Parse(text, policy.Resource); err != nil {
		return account.Fail("InvalidAttributeValue", "Invalid value for the parameter Policy.")
	}
	return nil
}

// Admits tells whether the queue's own policy lets a rule of EventBridge, which
// its ARN names, send to it. Without one nobody but the account's own principals may.
func (c *SQS) Admits(q *Queue, rule string) bool {
	document, err := policy.Parse(q.Attributes["Policy"], policy.Resource)
	if err != nil {
		return false
	}
	return policy.Evaluate([]policy.Document{document}, policy.Request{
		Action: "sqs:SendMessage", Resource: c.QueueARN(q.name), Principal: policy.Principal{Kind: "Service", Name: "events.amazonaws.com"},
		Context: policy.ContextKeys{
			"aws:SourceArn": {rule}, "aws:SourceAccount": {c.AccountID}, "aws:SecureTransport": {"true"},
		},
	}) == policy.Allowed
}

func (c *SQS) tagQueue(q *Queue, in *sqs.TagQueueInput) (*sqs.TagQueueOutput, error) {
	return &sqs.TagQueueOutput{}, account.Retag(q.tags, in.Tags, nil)
}

func (c *SQS) untagQueue(q *Queue, in *sqs.UntagQueueInput) (*sqs.UntagQueueOutput, error) {
	return &sqs.UntagQueueOutput{}, account.Retag(q.tags, nil, in.TagKeys)
}
