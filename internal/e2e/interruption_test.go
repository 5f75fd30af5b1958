package e2e

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const interruptions = "interruptions"

// spotInterruption takes a spot machine back while it runs pods. The queue also
// holds what nobody can read, and tells everything twice.
func spotInterruption(s *scene) {
	account := s.Sandbox.Cloud
	if err := account.OpenInterruptionQueue(interruptions); err != nil {
		s.t.Fatal(err)
	}
	behaviour := account.Behaviour()
	behaviour.DuplicateEvents = true
	account.SetBehaviour(behaviour)
	s.allow("sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:DeleteMessage")
	s.agent.Stop()
	s.startAgent("--interruption-queue", interruptions)

	s.apply(provisioner("interrupted", "requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]"))
	s.apply(deployment("interrupted", "interrupted", 3, "500m", "256Mi"))
	s.untilRunning("interrupted", 3)
	taken := path.Base(s.nodesOf("interrupted")[0].Spec.ProviderID)
	if err := account.Enqueue(interruptions, "no JSON", 3); err != nil {
		s.t.Fatal(err)
	}
	began := time.Now()
	if err := account.InterruptSpot(taken); err != nil {
		s.t.Fatal(err)
	}
	s.until("the pods have left for another machine", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "app=interrupted")
		nodes, nodesErr := s.nodes(ctx, "interrupted")
		if err != nil || nodesErr != nil {
			return false, "", fmt.Errorf("%w %w", err, nodesErr)
		}
		on := map[string]string{}
		for _, n := range nodes {
			on[n.Name] = path.Base(n.Spec.ProviderID)
		}
		safe := 0
		for _, p := range pods {
			if id := on[p.Spec.NodeName]; p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && id != "" && id != taken {
				safe++
			}
		}
		return safe == 3 && s.stateOf(taken) != "running", fmt.Sprintf("%d pods elsewhere, the machine is %s", safe, s.stateOf(taken)), nil
	})
	if took := time.Since(began); took > behaviour.SpotWarning {
		s.t.Errorf("it took %s, the machine was there for %s", took, behaviour.SpotWarning)
	}
	s.delete("interrupted")
	s.deleteProvisioner("interrupted")
	s.untilNoNodes("interrupted")
	s.until("the queue is empty", func(context.Context) (bool, string, error) {
		left := account.Messages(interruptions)
		return len(left) == 0, fmt.Sprint(left), nil
	})
	behaviour.DuplicateEvents = false
	account.SetBehaviour(behaviour)
}

// allow gives the agent's role more permissions.
func (s *scene) allow(actions ...string) {
	s.t.Helper()
	list := ""
	for i, action := range actions {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%q", action)
	}
	_, err := iam.NewFromConfig(s.AWS()).PutRolePolicy(s.t.Context(), &iam.PutRolePolicyInput{
		RoleName: aws.String(path.Base(s.role)), PolicyName: aws.String("more"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":[` + list + `],"Resource":"*"}]}`),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// stateOf returns the state of an instance that a provisioner has bought.
func (s *scene) stateOf(id string) string {
	for _, i := range s.Sandbox.Cloud.Instances() {
		if i.ID == id && i.Tags[api.LabelProvisioner] != "" {
			return i.State
		}
	}
	return "gone"
}
