package handback_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/handback"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

var pool = map[string]any{
	"apiVersion": "karpenter.sh/v1", "kind": api.NodePoolKind, "metadata": map[string]any{"name": "general"},
	"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
	}}},
}

// world carries every step out and notes it, but for the one that fails.
type world struct {
	steps []string
	fails string
	node  cluster.NodeChange
	pods  []cluster.Pod

	deployments []cluster.Deployment
}

func (w *world) step(name string) error {
	if name == w.fails {
		return errors.New("it failed")
	}
	w.steps = append(w.steps, name)
	return nil
}

func (w *world) MakeNodeClaim(context.Context, map[string]any, map[string]any) (string, error) {
	return "claim-uid", w.step("claim")
}

func (w *world) PatchNode(_ context.Context, _ string, change cluster.NodeChange) error {
	w.node = change
	return w.step("node")
}

func (w *world) PodsOn(context.Context, string) ([]cluster.Pod, error) { return w.pods, nil }

func (w *world) Steer(_ context.Context, pod cluster.PodKey, grade int) error {
	return w.step(fmt.Sprintf("pod %s %d", pod.Name, grade))
}

func (w *world) Deployment(_ context.Context, namespace, name string) (*cluster.Deployment, error) {
	i := slices.IndexFunc(w.deployments, func(d cluster.Deployment) bool { return d.Namespace == namespace && d.Name == name })
	if i < 0 {
		return nil, nil
	}
	return &w.deployments[i], nil
}

func (w *world) ScaleDeployment(_ context.Context, d *cluster.Deployment, replicas int) error {
	return w.step(fmt.Sprintf("deployment %s %d", d.Name, replicas))
}

func (w *world) GiveBack(_ context.Context, _, nodePool, nodeClass string) error {
	return w.step("tags of " + nodePool + " and " + nodeClass)
}

func (w *world) LetGo(context.Context, string) error { return w.step("own tags") }

func give(w *world, n *cluster.Node) error {
	i := offer.Instance{ID: "i-1", ProviderID: "aws:///z1/i-1", Provisioner: "general", State: offer.StateRunning}
	return handback.Ports{Claims: w, Nodes: w, Pods: w, Deployments: w, Machines: w}.Give(context.Background(), handback.Machine{Instance: i, Node: n, Pool: pool}, time.Unix(0, 0))
}

// The steps come in the order in which at least one controller knows the machine at any moment,
// and a step that fails keeps the later ones from being taken. Of what surge has begun, only that is
// undone which nobody else has changed, whatever number of replicas a kubelet has written to the record.
func TestGive(t *testing.T) {
	order := []string{"claim", "tags of general and default", "pod steered 0", "deployment grown 2", "node", "own tags"}
	surging := `[{"namespace": "a", "deployment": "grown", "uid": "1", "replicas": 0, "pods": [{"name": "steered"}]},
		{"namespace": "a", "deployment": "scaled", "uid": "2", "replicas": 2, "pods": [{"name": "p"}]},
		{"namespace": "a", "deployment": "gone", "uid": "3", "replicas": 2, "pods": [{"name": "q"}]},
		{"namespace": "a", "deployment": "new", "uid": "4", "replicas": 2, "pods": [{"name": "r"}]}]`
	for n, fails := range append(slices.Clone(order), "") {
		w := &world{fails: fails, pods: []cluster.Pod{
			{PodKey: cluster.PodKey{Name: "plain"}}, {PodKey: cluster.PodKey{Name: "steered"}, Steered: 1},
		}, deployments: []cluster.Deployment{
			{Namespace: "a", Name: "grown", UID: "1", Replicas: 3, Before: 2},
			{Namespace: "a", Name: "scaled", UID: "2", Replicas: 3}, // by somebody else
			{Namespace: "a", Name: "new", UID: "5", Replicas: 3, Before: 2},
		}}
		err := give(w, &cluster.Node{Name: "node", Annotations: map[string]string{api.AnnotationSurging: surging}})
		if (err != nil) != (fails != "") || !slices.Equal(w.steps, order[:n]) {
			t.Errorf("where %q fails: took %q (%v), want %q", fails, w.steps, err, order[:n])
		}
	}
}

// The node gets the NodeClaim as its only owner, and loses what the agent would know it by.
func TestGivenNode(t *testing.T) {
	w := &world{}
	if err := give(w, &cluster.Node{Name: "node"}); err != nil {
		t.Fatal(err)
	}
	if o := w.node.Owner; o == nil || o.Kind != "NodeClaim" || o.UID != "claim-uid" || o.Name != "general-1" {
		t.Errorf("the owner is %+v", o)
	}
	if !slices.Contains(w.node.RemoveLabels, api.LabelProvisioner) {
		t.Error("the node keeps the label of the agent")
	}
	for _, key := range []string{api.AnnotationLaunchID, api.AnnotationGracePeriod, api.AnnotationSurging} {
		if !slices.Contains(w.node.RemoveAnnotations, key) {
			t.Errorf("the node keeps the annotation %s", key)
		}
	}
}

// A machine whose node has not registered has no node to change.
func TestGiveWithoutNode(t *testing.T) {
	w := &world{}
	if err := give(w, nil); err != nil || slices.Contains(w.steps, "node") {
		t.Errorf("took %q (%v)", w.steps, err)
	}
}

// Only running machines of NodePools are given back, and not those of a Provisioner that has the name of one. A node of a
// NodePool whose machine EC2 does not list is named, as that machine stays with the agent.
func TestFind(t *testing.T) {
	instance := func(id, provisioner string, state offer.InstanceState) offer.Instance {
		return offer.Instance{ID: id, ProviderID: "aws:///z1/" + id, Provisioner: provisioner, State: state}
	}
	named := func(name string, source *api.Origin) *api.Provisioner {
		p := &api.Provisioner{Source: source}
		p.Name = name
		return p
	}
	pooled := map[string]string{api.LabelNodePool: "general"}
	both := map[string]any{"metadata": map[string]any{"name": "both"}}
	found, unlisted, unlabelled := handback.Find([]offer.Instance{
		instance("i-1", "general", offer.StateRunning), instance("i-2", "general", offer.StatePending),
		instance("i-3", "general", offer.StateGone), instance("i-4", "a-provisioner", offer.StateRunning),
		instance("i-5", "general", offer.StateRunning), instance("i-6", "both", offer.StatePending), instance("i-7", "both", offer.StateRunning),
		instance("i-11", "both", offer.StateRunning),
	}, []cluster.Node{
		{Name: "other", ProviderID: "aws:///z1/i-9", Provisioner: "a-provisioner"},
		{Name: "first", ProviderID: "aws:///z1/i-1", Provisioner: "general", Labels: pooled},
		{Name: "ended", ProviderID: "aws:///z1/i-3", Provisioner: "general", Labels: pooled},
		{Name: "unlisted", ProviderID: "aws:///z1/i-8", Provisioner: "general", Labels: pooled},
		{Name: "without the label", ProviderID: "aws:///z1/i-5", Provisioner: "general"},
		{Name: "of the Provisioner", ProviderID: "aws:///z1/i-11", Provisioner: "both"},
		{Name: "of a Provisioner, unlisted", ProviderID: "aws:///z1/i-10", Provisioner: "general"},
		{Name: "of the NodePool", ProviderID: "aws:///z1/i-7", Provisioner: "both", Labels: map[string]string{api.LabelNodePool: "both"}},
	}, []map[string]any{pool, both}, []*api.Provisioner{named("both", nil), named("general", &api.Origin{})})
	var got []string
	for _, m := range found {
		node := "none"
		if m.Node != nil {
			node = m.Node.Name
		}
		got = append(got, m.Instance.ID+" "+node)
	}
	if want := []string{"i-1 first", "i-2 none", "i-7 of the NodePool"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if want := []string{"unlisted"}; !slices.Equal(unlisted, want) {
		t.Errorf("the machines of %q are not listed, want %q", unlisted, want)
	}
	if want := []string{"without the label"}; !slices.Equal(unlabelled, want) {
		t.Errorf("the nodes %q lack the label, want %q", unlabelled, want)
	}
}
