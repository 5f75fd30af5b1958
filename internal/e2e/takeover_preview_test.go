package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/takeover/example"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/sandboxtest"
)

// TestTakeoverPreview runs the command of the guide on the cluster of the guide, with 300
// nodes and 20 NodePools in a real API server. What it prints is what the guide shows:
// TestPreviewInDocs of package takeover compares the two.
func TestTakeoverPreview(t *testing.T) {
	t.Parallel()
	st := sandboxtest.Stage(t, sandbox.Options{Region: example.Region})
	s := &scene{Stage: st, t: t}
	s.applyWithKubectl("testdata/nodepool-crds.yaml")
	s.kubectl("", "wait", "--for=condition=Established", "crd/nodepools.karpenter.sh", "crd/ec2nodeclasses.karpenter.k8s.aws", "crd/nodeclaims.karpenter.sh")
	s.populate()
	began := time.Now()
	said := s.admin("packhorse-agent", "takeover", "--dry-run")
	t.Logf("the preview took %s", time.Since(began).Round(time.Millisecond))
	want, err := os.ReadFile("../onboard/takeover/testdata/preview.txt")
	if err != nil {
		t.Fatal(err)
	}
	if said != string(want) {
		t.Errorf("the command prints something else than the guide shows:\n%s", said)
	}
	s.checkWebhooks()
}

// checkWebhooks leaves a webhook of Karpenter without Karpenter: it refuses what the takeover writes, and the
// command names it with the line that deletes it.
func (s *scene) checkWebhooks() {
	s.t.Helper()
	s.applyWithKubectl("testdata/karpenter-webhook.yaml")
	pools := s.Dynamic.Resource(kinds.NodePools.WithVersion("v1"))
	write := func(ctx context.Context) error {
		_, err := pools.Patch(ctx, "team-00", types.MergePatchType, []byte(`{"status":{"resources":{"cpu":"1"}}}`), metav1.PatchOptions{}, "status")
		return err
	}
	// The API server takes a moment until it asks a new webhook.
	err := wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		return write(ctx) != nil, nil
	})
	if err != nil {
		s.t.Fatal("the webhook refuses nothing")
	}
	const remove = "kubectl delete mutatingwebhookconfigurations/defaulting.webhook.karpenter.k8s.aws validatingwebhookconfigurations/validation.webhook.karpenter.sh\n"
	if said := s.admin("packhorse-agent", "takeover", "--dry-run"); !strings.Contains(said, remove) {
		s.t.Errorf("the command does not name the webhooks:\n%s", said)
	}
}

// populate creates the cluster of the guide.
func (s *scene) populate() {
	s.t.Helper()
	whole, err := example.New()
	if err != nil {
		s.t.Fatal(err)
	}
	// Pods need the ServiceAccount that the controller manager makes.
	err = wait.PollUntilContextTimeout(s.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := s.Kube.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(s.t.Context())
	g.SetLimit(8)
	for _, n := range whole.Nodes {
		g.Go(func() error { return s.createNode(ctx, n) })
	}
	for kind, objects := range map[schema.GroupResource][]map[string]any{
		kinds.NodeClasses: whole.NodeClasses, kinds.NodePools: whole.NodePools, kinds.NodeClaims: whole.NodeClaims,
	} {
		for _, object := range objects {
			g.Go(func() error { return s.createCustom(ctx, kind.WithVersion("v1"), object) })
		}
	}
	if err := g.Wait(); err != nil {
		s.t.Fatal(err)
	}
	g, ctx = errgroup.WithContext(s.t.Context())
	g.SetLimit(8)
	for _, p := range whole.Pods {
		g.Go(func() error { return s.createPod(ctx, p) })
	}
	if err := g.Wait(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) createNode(ctx context.Context, n *corev1.Node) error {
	nodes := s.Kube.CoreV1().Nodes()
	made, err := nodes.Create(ctx, n, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status, made.ResourceVersion = n.Status, "" // whatever controllers have changed meanwhile
	_, err = nodes.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func (s *scene) createPod(ctx context.Context, p *corev1.Pod) error {
	pods := s.Kube.CoreV1().Pods(p.Namespace)
	made, err := pods.Create(ctx, p, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status, made.ResourceVersion = p.Status, ""
	_, err = pods.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

func (s *scene) createCustom(ctx context.Context, kind schema.GroupVersionResource, object map[string]any) error {
	resource := s.Dynamic.Resource(kind)
	made, err := resource.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err != nil || object["status"] == nil {
		return err
	}
	made.Object["status"] = object["status"]
	_, err = resource.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}
