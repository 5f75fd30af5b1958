package provider_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const theirDocument = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`

// Terraform forgets the private state of a tainted resource whose deletion fails. This does not make an import of it:
// what others have added is not deleted with the role.
func TestTaintedRoleIsNotAdopted(t *testing.T) {
	for resource, arguments := range map[string]string{
		"irsa_role": "create_oidc_provider = true\n " + agentAccount, "node_role": "",
	} {
		t.Run(resource, func(t *testing.T) {
			name := "tainted-" + resource
			c := newCLI(t, nil)
			c.write(t, map[string]string{"main.tf": requiring() + fmt.Sprintf("resource \"packhorse_%s\" \"test\" {\n name = %q\n policy_arns = [%q]\n %s\n}\n", resource, name, readOnlyEKS, arguments)})
			c.run(t, "init")
			refuseOnce(t, "iam", "AttachRolePolicy")()
			if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
				t.Fatalf("the refused apply succeeds: %s", said)
			}
			putPolicy(t, name, "theirs", theirDocument)
			for range 2 {
				said, err := c.try(t, "apply", "-auto-approve")
				if err == nil {
					t.Errorf("the apply succeeds: %s", said)
				}
				says(t, said, "it still has inline policies theirs")
			}
			if err := inlinePolicies(name, "theirs"); err != nil {
				t.Error(err)
			}
			deletePolicy(t, name, "theirs")
			c.run(t, "apply", "-auto-approve")
			wantNoChange(t, "the plan after the replacement", c.plan(t))
			c.run(t, "destroy", "-auto-approve")
		})
	}
}

// The same holds for tags of a queue.
func TestTaintedQueueIsNotAdopted(t *testing.T) {
	ctx := t.Context()
	const name = "tainted-queue"
	c := newCLI(t, nil)
	c.write(t, map[string]string{"main.tf": requiring() + fmt.Sprintf("resource \"packhorse_interruption_queue\" \"test\" {\n name = %q\n}\n", name)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	c.run(t, "taint", "packhorse_interruption_queue.test")
	url, err := queues.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(name)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queues.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: url.QueueUrl, Tags: map[string]string{"theirs": "yes"}}); err != nil {
		t.Fatal(err)
	}
	refuseOnce(t, "sqs", "DeleteQueue")()
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the refused apply succeeds: %s", said)
	}
	c.run(t, "untaint", "packhorse_interruption_queue.test")
	for _, ch := range c.plan(t) {
		if fmt.Sprint(ch.Change.Before["tags"]) != "<nil>" {
			t.Errorf("the tags of others are taken over: %v", ch.Change.Before["tags"])
		}
	}
	c.run(t, "apply", "-auto-approve")
	tags, err := queues.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: url.QueueUrl})
	if err != nil || tags.Tags["theirs"] != "yes" {
		t.Errorf("tags of the queue: %v, %v", tags.Tags, err)
	}
	c.run(t, "destroy", "-auto-approve")
}

// And for the fields of a Provisioner.
func TestTaintedProvisionerIsNotAdopted(t *testing.T) {
	const name = "tainted-provisioner"
	c := newCLI(t, nil)
	c.write(t, map[string]string{"main.tf": requiring() + fmt.Sprintf(
		"resource \"packhorse_provisioner\" \"test\" {\n name = %q\n provider_ref = { name = \"default\" }\n timeouts {\n delete = \"1s\"\n }\n}\n", name)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	patch(t, api.ProvisionerGVR, name, `{"metadata":{"finalizers":["example.com/hold"]},"spec":{"weight":7}}`)
	c.run(t, "taint", "packhorse_provisioner.test")
	if said, err := c.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the replacement succeeds although the Provisioner stays: %s", said)
	}
	for _, ch := range c.plan(t) {
		if ch.Change.Before["weight"] != nil {
			t.Errorf("the weight that others have set is taken over: %v", ch.Change.Before["weight"])
		}
	}
	patch(t, api.ProvisionerGVR, name, `{"metadata":{"finalizers":null}}`)
	c.run(t, "destroy", "-auto-approve")
}
