package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxQueue bounds the policy of a queue, in bytes, as SQS counts attributes.
const MaxQueue = 10240

// Queue returns the policy of an interruption queue: EventBridge may send to it
// what rules of its own account and region pass on, and SQS what comes from queues
// of its account; nobody may speak to it without TLS. Without the conditions
// anybody's rules could send to it, as a service acts for all accounts
// (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-use-resource-based.html#eb-sqs-permissions).
func Queue(arn string) (string, error) {
	if err := checkAll(formed{"queue", arn, QueueARN}); err != nil {
		return "", err
	}
	parts := strings.SplitN(arn, ":", 6)
	partition, region, account := parts[1], parts[3], parts[4]
	return render("of the queue", MaxQueue,
		statement{
			Sid:       "ReceiveEvents",
			Effect:    "Allow",
			Principal: principals{"Service": {"events.amazonaws.com"}},
			Action:    values{"sqs:SendMessage"},
			Resource:  values{arn},
			Condition: map[string]condition{"ArnLike": {"aws:SourceArn": {fmt.Sprintf("arn:%s:events:%s:%s:rule/*", partition, region, account)}}},
		},
		statement{
			Sid:       "ReceiveFromQueues",
			Effect:    "Allow",
			Principal: principals{"Service": {"sqs.amazonaws.com"}},
			Action:    values{"sqs:SendMessage"},
			Resource:  values{arn},
			Condition: map[string]condition{"StringEquals": {"aws:SourceAccount": {account}}},
		},
		statement{
			Sid:       "DenyInsecureTransport",
			Effect:    "Deny",
			Principal: principals{"AWS": {"*"}},
			Action:    values{"sqs:*"},
			Resource:  values{arn},
			Condition: map[string]condition{"Bool": {"aws:SecureTransport": {"false"}}},
		},
	)
}

// principals maps the kinds of principals to their names.
type principals map[string]values

// UnmarshalJSON also reads the short form "*", which stands for everybody.
func (p *principals) UnmarshalJSON(raw []byte) error {
	var everybody string
	if json.Unmarshal(raw, &everybody) == nil {
		*p = principals{"AWS": {everybody}}
		return nil
	}
	return json.Unmarshal(raw, (*map[string]values)(p))
}
