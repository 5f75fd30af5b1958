package provider_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// theirsInAWS makes a role, an instance profile with it, a queue and a rule as others do.
func theirsInAWS(t *testing.T, name string) {
	t.Helper()
	assumable(t, name)
	if _, err := roles.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &name}); err != nil {
		t.Fatal(err)
	}
	queue, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	if err != nil {
		t.Fatal(err)
	}
	rule := name + "-spot"
	if _, err := rules.PutRule(t.Context(), &eventbridge.PutRuleInput{Name: &rule, EventPattern: aws.String(`{"source":["aws.s3"]}`)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := roles.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: &name}); err != nil {
			t.Error(err)
		}
		if _, err := roles.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: &name}); err != nil {
			t.Error(err)
		}
		if _, err := queues.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: queue.QueueUrl}); err != nil {
			t.Error(err)
		}
		if _, err := rules.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: &rule}); err != nil {
			t.Error(err)
		}
	})
}

// inAWS declares a resource in AWS.
func inAWS(typeName, label, name, arguments string) string {
	if typeName == "packhorse_irsa_role" {
		arguments += agentAccount + "\n identity = \"pod-identity\"\n"
	}
	return fmt.Sprintf("resource %q %q {\n name = %q\n %s\n}\n", typeName, label, name, arguments)
}

// A name that is taken in AWS is found by the plan too, and the plan says how to take
// over what has it. Where AWS does not answer, the plan says what it has not checked.
func TestPlanFindsNamesThatAreTakenInAWS(t *testing.T) {
	theirsInAWS(t, "theirs-in-aws")
	terraform := newCLI(t, nil)
	const node, irsa, queue, theirs = "packhorse_node_role", "packhorse_irsa_role", "packhorse_interruption_queue", "theirs-in-aws"
	for i, c := range []struct{ title, resources, want string }{
		{"a node role", inAWS(node, "a", theirs, ""), "IAM role theirs-in-aws already exists"},
		{"an IRSA role", inAWS(irsa, "a", theirs, ""), `id = "theirs-in-aws"`},
		{"a queue", inAWS(queue, "a", theirs, ""), "queue theirs-in-aws already exists"},
		{"a profile of another role", inAWS(node, "a", "new", `instance_profile = "theirs-in-aws"`), "instance_profile: instance profile theirs-in-aws already exists and has the role theirs-in-aws"},
		{"a rule", inAWS(queue, "a", "new", `rule_prefix = "theirs-in-aws"`), "rule_prefix: EventBridge rule theirs-in-aws-spot already exists"},
		{"two roles of different kinds", inAWS(node, "a", "twice", "") + inAWS(irsa, "b", "twice", ""), `two resources declare the IAM role "twice"`},
		{"two profiles", inAWS(node, "a", "new", "") + inAWS(node, "b", "newer", `instance_profile = "new"`), `two resources declare the instance profile "new"`},
		{"two queues", inAWS(queue, "a", "twice", "") + inAWS(queue, "b", "twice", ""), `two resources declare the queue "twice"`},
		{"two queues with one prefix", inAWS(queue, "a", "new", "") + inAWS(queue, "b", "newer", `rule_prefix = "new"`), `rule_prefix: two resources declare the prefix of rules "new"`},
		{"different names", inAWS(node, "a", "new", "") + inAWS(irsa, "b", "newer", "") + inAWS(queue, "c", "new", ""), ""},
	} {
		terraform.write(t, map[string]string{"main.tf": watchful("") + c.resources})
		if i == 0 {
			terraform.run(t, "init")
		}
		out, err := terraform.try(t, "plan")
		if (err != nil) != (c.want != "") {
			t.Errorf("%s: %v\n%s", c.title, err, out)
		}
		wantText(t, c.title, out, c.want)
	}
	terraform.write(t, map[string]string{"main.tf": requiring() + inAWS(node, "a", theirs, "")})
	terraform.run(t, "plan") // which asks for nothing with plan_checks = "off"
	terraform.write(t, map[string]string{"main.tf": watchful("endpoints = { iam = \"http://127.0.0.1:1\" }") + inAWS(node, "a", theirs, "")})
	wantText(t, "the plan without IAM", terraform.run(t, "plan"), "Not checked: whether the name is taken")
}

// What a resource has in its state is no name that others have taken, even where the
// plan does not see the state, as that of a tainted resource.
func TestReplacementsKeepTheirNames(t *testing.T) {
	all := map[string]string{
		"packhorse_node_role.ours": inAWS("packhorse_node_role", "ours", "kept-node", ""), "packhorse_irsa_role.ours": inAWS("packhorse_irsa_role", "ours", "kept-irsa", ""),
		"packhorse_interruption_queue.ours": inAWS("packhorse_interruption_queue", "ours", "kept", ""),
		"packhorse_provisioner.ours":        "resource \"packhorse_provisioner\" \"ours\" {\n name = \"kept\"\n}\n",
	}
	terraform := newCLI(t, nil)
	text := watchful("")
	replace, taint := []string{"apply", "-auto-approve"}, []string{}
	for address, block := range all {
		text += block
		replace, taint = append(replace, "-replace="+address), append(taint, address)
	}
	terraform.write(t, map[string]string{"main.tf": text})
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	terraform.run(t, replace...)
	for _, refresh := range []string{"true", "false"} {
		for _, address := range taint {
			terraform.run(t, "taint", address)
		}
		if out := terraform.run(t, "apply", "-auto-approve", "-refresh="+refresh); !strings.Contains(out, "4 added") {
			t.Errorf("-refresh=%s: not all are replaced:\n%s", refresh, out)
		}
	}
	moved := strings.Replace(text, "name = \"kept-node\"\n", "name = \"kept-node-2\"\n instance_profile = \"kept-node\"\n", 1)
	terraform.write(t, map[string]string{"main.tf": moved})
	terraform.run(t, "apply", "-auto-approve") // the profile stays with the resource, which has another role now
	terraform.run(t, "destroy", "-auto-approve")
}

// Terraform makes a plan of changes before one of a destroy, and does not say so to
// providers. What stands in the way of a pending change is left out by either of the
// ways that the guide tells.
func TestPendingChangesThatCannotBeAppliedLeaveAWayToDestroy(t *testing.T) {
	theirsInAWS(t, "theirs-pending")
	terraform := newCLI(t, nil)
	ours := inAWS("packhorse_interruption_queue", "ours", "pending", "")
	pending := ours + inAWS("packhorse_interruption_queue", "new", "theirs-pending", "")
	for i, way := range [][]string{{watchful(""), "-refresh=false"}, {requiring(), "-refresh=true"}} {
		terraform.write(t, map[string]string{"main.tf": watchful("") + ours})
		if i == 0 {
			terraform.run(t, "init")
		}
		terraform.run(t, "apply", "-auto-approve")
		terraform.write(t, map[string]string{"main.tf": watchful("") + pending})
		out, err := terraform.try(t, "destroy", "-auto-approve")
		t.Logf("destroy with a pending change that cannot be applied: %v\n%s", err, out)
		terraform.write(t, map[string]string{"main.tf": way[0] + pending})
		terraform.run(t, "destroy", "-auto-approve", way[1])
		if queueURL(t.Context(), "pending") != nil {
			t.Error("the queue is still there")
		}
		if queueURL(t.Context(), "theirs-pending") == nil {
			t.Error("the queue of others is gone")
		}
	}
}
