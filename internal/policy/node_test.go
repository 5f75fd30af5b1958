package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	evaluated "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

func TestNodeTrust(t *testing.T) {
	for partition, service := range map[string]string{"aws": "ec2.amazonaws.com", "aws-us-gov": "ec2.amazonaws.com", "aws-cn": "ec2.amazonaws.com.cn"} {
		got, err := policy.NodeTrust(partition)
		want := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + service + `"},"Action":"sts:AssumeRole"}]}`
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, trust policy (-want +got):\n%s", partition, err, diff)
		}
	}
}

func TestNodePolicies(t *testing.T) {
	want := []string{
		"arn:aws-cn:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly", "arn:aws-cn:iam::aws:policy/AmazonEKSWorkerNodePolicy",
		"arn:aws-cn:iam::aws:policy/AmazonEKS_CNI_Policy",
	}
	if diff := cmp.Diff(want, policy.NodePolicies("aws-cn", true)); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:2], policy.NodePolicies("aws-cn", false)); diff != "" {
		t.Errorf("policies without the network's (-want +got):\n%s", diff)
	}
}

func TestQueue(t *testing.T) {
	got, err := policy.Queue("arn:aws:sqs:eu-west-1:123456789012:prod")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Version":"2012-10-17","Statement":[` +
		`{"Sid":"ReceiveEvents","Effect":"Allow","Principal":{"Service":"events.amazonaws.com"},` +
		`"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:eu-west-1:123456789012:prod",` +
		`"Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:events:eu-west-1:123456789012:rule/*"}}},` +
		`{"Sid":"ReceiveFromQueues","Effect":"Allow","Principal":{"Service":"sqs.amazonaws.com"},` +
		`"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:eu-west-1:123456789012:prod",` +
		`"Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}}},` +
		`{"Sid":"DenyInsecureTransport","Effect":"Deny","Principal":{"AWS":"*"},"Action":"sqs:*",` +
		`"Resource":"arn:aws:sqs:eu-west-1:123456789012:prod","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

// Services act for all accounts: only what comes from the queue's own may be sent.
func TestQueueReceivesFromItsOwnAccount(t *testing.T) {
	const arn = "arn:aws:sqs:eu-west-1:123456789012:prod"
	text, err := policy.Queue(arn)
	if err != nil {
		t.Fatal(err)
	}
	document, err := evaluated.Parse(text, evaluated.Resource)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		kind, who, source, account string
		want                       evaluated.Decision
	}{
		"a rule":                      {"Service", "events.amazonaws.com", "arn:aws:events:eu-west-1:123456789012:rule/prod-SpotInterruption", "123456789012", evaluated.Allowed},
		"a rule of a bus":             {"Service", "events.amazonaws.com", "arn:aws:events:eu-west-1:123456789012:rule/bus/name", "123456789012", evaluated.Allowed},
		"a rule of another account":   {"Service", "events.amazonaws.com", "arn:aws:events:eu-west-1:999999999999:rule/prod-SpotInterruption", "999999999999", evaluated.NotAllowed},
		"a rule of another region":    {"Service", "events.amazonaws.com", "arn:aws:events:us-east-1:123456789012:rule/prod", "123456789012", evaluated.NotAllowed},
		"a queue":                     {"Service", "sqs.amazonaws.com", "arn:aws:sqs:eu-west-1:123456789012:dead", "123456789012", evaluated.Allowed},
		"a queue of another account":  {"Service", "sqs.amazonaws.com", "arn:aws:sqs:eu-west-1:999999999999:dead", "999999999999", evaluated.NotAllowed},
		"another service":             {"Service", "sns.amazonaws.com", "arn:aws:sns:eu-west-1:123456789012:topic", "123456789012", evaluated.NotAllowed},
		"somebody of another account": {"AWS", "arn:aws:iam::999999999999:role/x", "", "", evaluated.NotAllowed},
	} {
		keys := evaluated.ContextKeys{"aws:SecureTransport": {"true"}}
		if tt.source != "" {
			keys["aws:SourceArn"], keys["aws:SourceAccount"] = []string{tt.source}, []string{tt.account}
		}
		got := evaluated.Evaluate([]evaluated.Document{document}, evaluated.Request{
			Action: "sqs:SendMessage", Resource: arn, Principal: evaluated.Principal{Kind: tt.kind, Name: tt.who}, Context: keys,
		})
		if got != tt.want {
			t.Errorf("%s: decision %d, want %d", name, got, tt.want)
		}
	}
	if _, err := policy.Queue("prod"); err == nil {
		t.Error("a name passes as an ARN")
	}
}

func TestParseTrustReadsTheShortFormOfEverybody(t *testing.T) {
	_, err := policy.ParseTrust(`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRoleWithWebIdentity",` +
		`"Condition":{"StringEquals":{"issuer:sub":"system:serviceaccount:a:b"}}}]}`)
	if err != nil {
		t.Errorf("a policy that trusts everybody is not read: %v", err)
	}
}
