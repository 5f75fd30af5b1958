package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
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
		`{"Sid":"ReceiveEvents","Effect":"Allow","Principal":{"Service":["events.amazonaws.com","sqs.amazonaws.com"]},` +
		`"Action":"sqs:SendMessage","Resource":"arn:aws:sqs:eu-west-1:123456789012:prod"},` +
		`{"Sid":"DenyInsecureTransport","Effect":"Deny","Principal":{"AWS":"*"},"Action":"sqs:*",` +
		`"Resource":"arn:aws:sqs:eu-west-1:123456789012:prod","Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestParseTrustReadsTheShortFormOfEverybody(t *testing.T) {
	_, err := policy.ParseTrust(`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRoleWithWebIdentity",` +
		`"Condition":{"StringEquals":{"issuer:sub":"system:serviceaccount:a:b"}}}]}`)
	if err != nil {
		t.Errorf("a policy that trusts everybody is not read: %v", err)
	}
}
