package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// TestNodePools serves a NodePool as it is: not while Karpenter's Lease is held, and
// then with nodes that carry its label, until nobody needs them.
func TestNodePools(t *testing.T) {
	const region = "eu-west-1"
	st := newStage(t, region)
	st.Options = map[string]string{"node-pools": "true"}
	s := sceneOn(t, st, region) // the agent starts without the kinds of Karpenter
	s.deleteProvisioner("default")
	s.untilNoNodes("default")
	stop := s.karpenterRuns()
	s.applyWithKubectl("testdata/nodepool-crds.yaml")
	s.kubectl("", "wait", "--for=condition=Established", "crd/nodepools.karpenter.sh", "crd/ec2nodeclasses.karpenter.k8s.aws")
	s.applyWithKubectl("testdata/nodepools.yaml")
	s.untilStandingBy()

	chosen := strings.Replace(deployment("chosen", "unused", 4, "900m", "1Gi"), api.LabelProvisioner+": unused", api.LabelNodePool+": general", 1)
	s.apply(chosen)
	stop()
	s.untilRunning("chosen", 4)
	s.untilReady("True", "Ready", "")
	s.untilTheirs("general")
	s.delete("chosen")
	s.untilNoNodes("general")
	s.reserves()
}

// untilStandingBy waits until the agent leaves its NodePools to Karpenter.
func (s *scene) untilStandingBy() {
	s.t.Helper()
	s.until("the agent stands by", func(ctx context.Context) (bool, string, error) {
		text, err := fetch(ctx, s.agent.Ready)
		return strings.Contains(string(text), "karpenter-1 renews the Lease kube-system/karpenter-leader-election"), fmt.Sprintf("%s (%v)", text, err), nil
	})
}

// untilTheirs waits until all nodes carry the labels of the NodePool, which owns them. A kubelet that
// registers before the agent has made the Node object knows no owner: the agent adds it.
func (s *scene) untilTheirs(pool string) {
	s.t.Helper()
	s.until("the nodes belong to the NodePool "+pool, func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, pool)
		if err != nil {
			return false, "", err
		}
		for _, n := range nodes {
			if n.Labels[api.LabelNodePool] != pool || n.Labels["team"] != "a" || len(n.OwnerReferences) != 1 || n.OwnerReferences[0].Kind != kinds.NodePoolKind {
				return false, fmt.Sprintf("node %s has the labels %v and the owners %+v", n.Name, n.Labels, n.OwnerReferences), nil
			}
		}
		return len(nodes) > 0, "no nodes", nil
	})
}

// untilReady waits for the condition Ready of the NodePool.
func (s *scene) untilReady(status, reason, message string) {
	s.t.Helper()
	s.until("the NodePool is Ready="+status, func(ctx context.Context) (bool, string, error) {
		u, err := s.Dynamic.Resource(kinds.NodePools.WithVersion("v1")).Get(ctx, "general", metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, item := range conditions {
			if c, ok := item.(map[string]any); ok && c["type"] == "Ready" {
				said := fmt.Sprint(c["message"])
				return c["status"] == status && c["reason"] == reason && strings.Contains(said, message), fmt.Sprint(c), nil
			}
		}
		return false, "no condition", nil
	})
}
