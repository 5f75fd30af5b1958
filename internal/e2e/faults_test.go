package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// TestFaults holds what must go well when something does not. Each case has a
// provisioner of its own; they share a sandbox.
func TestFaults(t *testing.T) {
	s := newScene(t)
	for _, c := range []struct {
		name string
		run  func(*scene)
	}{
		{"an impossible pod stays pending and says why", impossiblePod},
		{"a limit holds against a burst of 200 pods", limitHolds},
		{"a capacity error leads to another offering in the same turn", capacityError},
		{"device plugins that come late cost no machine", devicesLate},
		{"a budget holds an eviction back", budgetHolds},
		{"deleting a provisioner drains its nodes", provisionerDeleted},
		{"pods are resized in place and through successors", resizedPods},
		{"claims get a node, and Jobs and StatefulSets are waited for", claimsAndOwners},
		{"a binding that admission refuses is made when it does no more", bindingRefused},
		{"pods wait for startup taints that would evict them", startupTaintEvicts},
		{"the leader is killed between the fleet call and the node", killedBeforeNode},
		{"pods leave a spot machine before it is taken back", spotInterruption},
		{"the connections to the API server are cut", connectionsCut},
		{"the API server is killed and comes back", apiServerRestarted},
		{"a leader that is cut off is succeeded and ends", leaderCutOff},
		{"wrong user data shows as a node that does not come up", neverUp},
	} {
		t.Run(c.name, func(t *testing.T) {
			sub := s.in(t)
			c.run(sub)
			s.agent = sub.agent
		})
	}
}

func impossiblePod(s *scene) {
	s.apply(deployment("impossible", "default", 1, "5000", "1Gi"))
	var message string
	s.until("an event explains", func(ctx context.Context) (bool, string, error) {
		var err error
		message, err = s.event(ctx, "Pod", "impossible", "Unplaceable")
		return message != "", "no event", err
	})
	if !strings.Contains(message, "5000 CPU") {
		s.t.Errorf("the event does not name the constraint: %s", message)
	}
	if n := s.live("default"); n != 0 {
		s.t.Errorf("%d machines were bought for a pod that fits none", n)
	}
}

func limitHolds(s *scene) {
	s.apply(provisioner("limited", `
limits: {resources: {cpu: "16"}}
labels: {purpose: limited}
`))
	s.apply(deployment("burst", "limited", 200, "500m", "256Mi"))
	s.until("some pods run and the others are told why not", func(ctx context.Context) (bool, string, error) {
		message, err := s.event(ctx, "Pod", "burst", "Unplaceable")
		return strings.Contains(message, "limit"), message, err
	})
	s.until("the limit is used", func(ctx context.Context) (bool, string, error) {
		cpus, err := s.capacity(ctx, "limited")
		if cpus > 16 {
			return false, "", fmt.Errorf("%d CPUs were bought, the limit is 16", cpus)
		}
		return cpus >= 12, fmt.Sprintf("%d CPUs", cpus), err
	})
	s.delete("burst")
	s.deleteProvisioner("limited")
	s.untilNoNodes("limited")
	if cpus := s.everBought("limited"); cpus > 16 {
		s.t.Errorf("%d CPUs were bought in all, the limit is 16", cpus)
	}
}

func capacityError(s *scene) {
	s.apply(provisioner("scarce", `
requirements:
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
`))
	s.Sandbox.Cloud.SetCapacity("c5.large", "*", "on-demand", 0)
	defer s.Sandbox.Cloud.SetCapacity("c5.large", "*", "on-demand", -1)
	before := len(s.Sandbox.Cloud.Calls())
	s.apply(deployment("scarce", "scarce", 1, "1", "1Gi"))
	s.untilRunning("scarce", 1)
	for _, i := range s.Sandbox.Cloud.Instances() {
		if i.Tags[api.LabelProvisioner] == "scarce" && i.Type == "c5.large" {
			s.t.Errorf("bought %s, of which there is none", i.Type)
		}
	}
	fleets := 0
	for _, c := range s.Sandbox.Cloud.Calls()[before:] {
		if c.Action == "CreateFleet" {
			fleets++
		}
	}
	if fleets > 2 {
		s.t.Errorf("%d fleet requests, want at most 2: the next offering is tried at once", fleets)
	}
	s.delete("scarce")
	s.deleteProvisioner("scarce")
	s.untilNoNodes("scarce")
}

func budgetHolds(s *scene) {
	s.apply(provisioner("guarded", "labels: {purpose: guarded}"))
	s.apply(deployment("guarded", "guarded", 2, "250m", "128Mi"))
	s.untilRunning("guarded", 2)
	budgets := s.Kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault)
	none := intstr.FromInt32(2)
	_, err := budgets.Create(s.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &none,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("the budget is observed", func(ctx context.Context) (bool, string, error) {
		b, err := budgets.Get(ctx, "guard", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return b.Status.ExpectedPods == 2, fmt.Sprintf("%+v", b.Status), nil
	})
	nodes := s.nodesOf("guarded")
	if err := s.Kube.CoreV1().Nodes().Delete(s.t.Context(), nodes[0].Name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the eviction is reported as blocked by the budget", func(ctx context.Context) (bool, string, error) {
		message, err := s.event(ctx, "Pod", "guarded", "EvictionBlocked")
		return strings.Contains(message, "guard"), message, err
	})
	s.untilRunning("guarded", 2)
	if err := budgets.Delete(s.t.Context(), "guard", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the node is gone", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "guarded")
		for _, n := range nodes {
			if n.DeletionTimestamp != nil {
				return false, n.Name + " is still going", err
			}
		}
		return true, "", err
	})
	s.untilRunning("guarded", 2)
	s.delete("guarded")
	s.deleteProvisioner("guarded")
	s.untilNoNodes("guarded")
}

func provisionerDeleted(s *scene) {
	s.apply(provisioner("leaving", "labels: {purpose: leaving}"))
	s.apply(deployment("leaving", "leaving", 3, "500m", "256Mi"))
	s.untilRunning("leaving", 3)
	s.deleteProvisioner("leaving")
	s.untilNoNodes("leaving")
	s.until("the provisioner is gone", func(ctx context.Context) (bool, string, error) {
		list, err := s.Dynamic.Resource(api.ProvisionerGVR).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=leaving"})
		if err != nil {
			return false, "", err
		}
		return len(list.Items) == 0, "still there", nil
	})
	s.delete("leaving")
}

// killedBeforeNode lets a standby take over from a leader that could not give up
// its lease, and that has bought a machine which is in no record.
func killedBeforeNode(s *scene) {
	standby := s.standby()
	s.apply(provisioner("killed", "labels: {purpose: killed}"))
	// The agent reads its instances after the fleet call: hold it there.
	release := s.Sandbox.Cloud.Inject(cloud.Fault{Service: "ec2", Action: "DescribeInstances", Latency: 3 * time.Second})
	var once sync.Once
	dead := make(chan struct{})
	cancel := s.Sandbox.Cloud.Subscribe(func(e cloud.Event) {
		if e.Kind == cloud.Launched {
			once.Do(func() { go func() { s.agent.Kill(); close(dead) }() })
		}
	})
	s.apply(deployment("killed", "killed", 4, "500m", "256Mi"))
	select {
	case <-dead:
	case <-time.After(patience):
		s.t.Fatal("nothing was launched")
	}
	cancel()
	release()
	if nodes, err := s.nodes(s.t.Context(), "killed"); err != nil || len(nodes) != 0 {
		s.t.Fatalf("the agent was killed too late: %d nodes, %v", len(nodes), err)
	}
	s.agent = standby
	s.untilRunning("killed", 4)
	s.until("each instance has a node", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "killed")
		return len(nodes) == s.live("killed"), fmt.Sprintf("%d nodes, %d instances", len(nodes), s.live("killed")), err
	})
	s.delete("killed")
	s.deleteProvisioner("killed")
	s.untilNoNodes("killed")
}

func neverUp(s *scene) {
	s.agent.Stop()
	s.startAgent("--startup-timeout", "5s", "--log-level", "trace") // in which checkSecrets looks, too
	s.apply(`
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: broken}
spec:
  subnetSelector: {karpenter.sh/discovery: ` + s.Sandbox.ClusterName + `}
  securityGroupSelector: {karpenter.sh/discovery: ` + s.Sandbox.ClusterName + `}
  amiFamily: Custom
  amiSelector: {aws::name: "amazon-eks-node-al2023-*"}
  userData: "#!/bin/bash\necho this machine never joins\n"
`)
	s.apply(strings.Replace(provisioner("broken", "labels: {purpose: broken}"), "name: default", "name: broken", 1))
	s.apply(deployment("broken", "broken", 1, "500m", "256Mi"))
	s.until("the node that never came up is reported", func(ctx context.Context) (bool, string, error) {
		message, err := s.event(ctx, "Node", "", "NeverRegistered")
		return message != "", "no event", err
	})
	s.delete("broken")
	s.deleteProvisioner("broken")
	s.untilNoNodes("broken")
}

// capacity sums the CPUs of a provisioner's nodes.
func (s *scene) capacity(ctx context.Context, provisioner string) (int64, error) {
	nodes, err := s.nodes(ctx, provisioner)
	var sum int64
	for _, n := range nodes {
		sum += n.Status.Capacity.Cpu().Value()
	}
	return sum, err
}

// everBought sums the CPUs of all instances that a provisioner ever had.
func (s *scene) everBought(provisioner string) int64 {
	vcpus := s.vcpus()
	var sum int64
	for _, i := range s.Sandbox.Cloud.Instances() {
		if i.Tags[api.LabelProvisioner] == provisioner {
			sum += vcpus[i.Type]
		}
	}
	return sum
}

// vcpus are the sizes of all instance types.
func (s *scene) vcpus() map[string]int64 {
	s.t.Helper()
	catalogue, err := offer.ReadCatalogue(bytes.NewReader(offer.EmbeddedCSV()))
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]int64{}
	for _, h := range catalogue.Hardware {
		out[h.Name] = h.VCPUs
	}
	return out
}

func (s *scene) delete(app string) {
	s.t.Helper()
	if err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).Delete(s.t.Context(), app, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.until("the pods of "+app+" are gone", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "app="+app)
		left := 0
		for _, p := range pods {
			if p.Status.Phase != corev1.PodSucceeded {
				left++
			}
		}
		return left == 0, fmt.Sprintf("%d left", left), err
	})
}

func (s *scene) deleteProvisioner(name string) {
	s.t.Helper()
	if err := s.Dynamic.Resource(api.ProvisionerGVR).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}
