package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/handback"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

var generalPool = map[string]any{
	"apiVersion": "karpenter.sh/v1", "kind": api.NodePoolKind, "metadata": map[string]any{"name": "general"},
	"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
	}}},
}

// giveBack gives all machines of the NodePool general back to Karpenter.
func (r *rig) giveBack(intercept sim.Intercept) error {
	r.Helper()
	p := r.Connect(intercept)
	instances, err := p.Cloud.Instances(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	ports := handback.Ports{Claims: p.Cluster, Nodes: p.Cluster, Pods: p.Cluster, Deployments: p.Cluster, Machines: p.Cloud}
	var now []cluster.Node
	for _, n := range r.Nodes() {
		now = append(now, cluster.FromNode(n, nil))
	}
	machines, unlisted, unlabelled := handback.Find(instances, now, []map[string]any{generalPool}, nil)
	if len(unlisted)+len(unlabelled) > 0 {
		r.Fatalf("the machines of %q are not listed, and the nodes %q lack the label", unlisted, unlabelled)
	}
	for _, m := range machines {
		if err := ports.Give(r.Context(), m, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// isKarpenters reports whether Karpenter knows all machines.
func (r *rig) isKarpenters() bool {
	for _, m := range r.Machines() {
		if m.Tags[api.LabelNodePool] != "general" || m.Provisioner != "" {
			return false
		}
	}
	for _, n := range r.Nodes() {
		if len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Kind != "NodeClaim" || n.Labels[api.LabelProvisioner] != "" || n.Annotations[api.AnnotationProvisionerHash] != "" {
			return false
		}
	}
	return len(r.NodeClaims()) == len(r.Machines())
}

// The way there, back, and there again: machines that Karpenter bought and machines that
// the agent bought go on under either of the two, and no pod restarts.
func TestHandback(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(2, aNodePool)
		first := r.takingOver(nil)
		r.until("everything is taken over", r.takenOver)
		r.Scale("web", 12)
		r.until("the workload runs", r.allRun("web", 12))
		r.until("all nodes are up", r.allUp)
		pods, machines := r.allPods(), len(r.Machines())
		if machines == 2 {
			t.Fatal("the agent has bought nothing")
		}
		first.end()
		if ended := r.RunKarpenter(); len(ended) > 0 {
			t.Fatalf("without the way back Karpenter ends %v", ended)
		}
		for _, n := range r.Nodes() { // as if the agent had ended while it emptied them
			change := cluster.NodeChange{Guide: ptr.To(2), AddTaints: []corev1.Taint{drain.Taint}}
			if err := r.Connect(nil).Cluster.PatchNode(t.Context(), n.Name, change); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range r.Pods() {
			if err := r.Connect(nil).Cluster.Steer(t.Context(), cluster.PodKey{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}, 1); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.giveBack(nil); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Pods() {
			if p.Annotations[corev1.PodDeletionCost] != "" || p.Annotations[api.AnnotationSteered] != "" {
				t.Errorf("pod %s keeps the annotations %v", p.Name, p.Annotations)
			}
		}
		for _, n := range r.Nodes() {
			if len(n.Spec.Taints) > 0 {
				t.Errorf("node %s keeps the taints %v", n.Name, n.Spec.Taints)
			}
		}
		if ended := r.RunKarpenter(); len(ended) > 0 || !r.isKarpenters() {
			t.Fatalf("Karpenter ends %v\n%s", ended, r.describe())
		}
		changed := r.Provisioner("general") // the tags of the agent's machines still have the hash from before
		changed.Spec.Annotations = map[string]string{"example.com/changed": "yes"}
		r.Apply(changed)
		time.Sleep(time.Second) // the next agent's caches show it
		r.takingOver(nil)
		r.until("everything is taken over again", r.takenOver)
		r.never(time.Hour, "something changes", func() bool { return !maps.Equal(r.allPods(), pods) || len(r.Machines()) != machines })
	})
}

// An agent that ended while surge moved pods leaves a Deployment with more replicas than anybody wants.
func TestHandbackUndoesSurge(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(1, aNodePool)
		agent := r.takingOver(nil)
		r.until("everything is taken over", r.takenOver)
		r.Deploy(surging("svc", 2))
		r.until("the workload runs", r.allRun("svc", 2))
		r.until("all nodes are up", r.allUp)
		agent.end()
		c := r.Connect(nil).Cluster
		leaves := r.Pods()[slices.IndexFunc(r.Pods(), func(p *corev1.Pod) bool { return strings.HasPrefix(p.Name, "svc") })]
		d := c.Snapshot().Deployment(leaves.Namespace, "svc")
		record := fmt.Sprintf(`[{"namespace": %q, "deployment": "svc", "uid": %q, "replicas": 2, "pods": [{"name": %q, "uid": %q}]}]`, d.Namespace, d.UID, leaves.Name, leaves.UID)
		for _, err := range []error{
			c.PatchNode(t.Context(), leaves.Spec.NodeName, cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationSurging: record}}),
			c.Steer(t.Context(), cluster.PodKey{Namespace: leaves.Namespace, Name: leaves.Name, UID: string(leaves.UID)}, cluster.GradeSurge),
			c.ScaleDeployment(t.Context(), d, 3),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		r.until("the caches have it", func() bool { return c.Snapshot().Deployment(leaves.Namespace, "svc").Replicas == 3 })
		if err := r.giveBack(nil); err != nil {
			t.Fatal(err)
		}
		if left := r.Misscaled(); len(left) > 0 || r.traces() != "" {
			t.Errorf("surge has left %v and %s", left, r.traces())
		}
	})
}

// The way back may be cut off at any step: Karpenter, started then, ends no machine, and
// running it again finishes it.
func TestHandbackIsCutOff(t *testing.T) {
	for _, call := range []string{"MakeNodeClaim", "GiveBack", "PatchNode", "LetGo"} {
		for _, when := range []sim.When{sim.Before, sim.After} {
			t.Run(fmt.Sprintf("%s %s", when, call), func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					pods := r.karpenterLeaves(3, aNodePool)
					agent := r.takingOver(nil)
					r.until("everything is taken over", r.takenOver)
					agent.end()
					seen := 0
					err := r.giveBack(func(c string, w sim.When) error {
						if c == call && w == when {
							if seen++; seen == 2 {
								return errors.New("cut off")
							}
						}
						return nil
					})
					if err == nil {
						t.Fatal("it was not cut off")
					}
					if ended := r.RunKarpenter(); len(ended) > 0 {
						t.Errorf("Karpenter ends %v", ended)
					}
					if err := r.giveBack(nil); err != nil {
						t.Fatal(err)
					}
					if ended := r.RunKarpenter(); len(ended) > 0 || !r.isKarpenters() || !maps.Equal(r.allPods(), pods) {
						t.Errorf("Karpenter ends %v\n%s", ended, r.describe())
					}
				})
			})
		}
	}
}

// Machines of Provisioners stay with the agent.
func TestHandbackLeavesProvisionersAlone(t *testing.T) {
	ours := offer.Instance{ID: "i-1", Provisioner: "default", State: offer.StateRunning}
	ended := offer.Instance{ID: "i-2", Provisioner: "general", State: offer.StateStopping}
	if found, _, _ := handback.Find([]offer.Instance{ours, ended}, nil, []map[string]any{generalPool}, nil); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
}
