package policy

import "encoding/json"

// MaxQueue bounds the policy of a queue, in bytes, as SQS counts attributes.
const MaxQueue = 10240

// Queue returns the policy of an interruption queue: EventBridge and SQS itself
// may send to it, and nobody may speak to it without TLS.
func Queue(arn string) (string, error) {
	return render("of the queue", MaxQueue,
		statement{
			Sid:       "ReceiveEvents",
			Effect:    "Allow",
			Principal: principals{"Service": {"events.amazonaws.com", "sqs.amazonaws.com"}},
			Action:    values{"sqs:SendMessage"},
			Resource:  values{arn},
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
