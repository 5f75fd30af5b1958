package e2e

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDestroyWithManyNodes destroys the agent with fifty nodes, first held up by a
// budget that allows no eviction.
func TestDestroyWithManyNodes(t *testing.T) {
	s := newInstalled(t, "testdata/agent")
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "on_destroy=refuse")
	s.workWide()
	nodes := len(s.boughtNodes())
	said := s.fails("destroy", "-auto-approve", "-no-color", "-var", "on_destroy=refuse", "-target", "packhorse_agent.main")
	if !strings.Contains(said, fmt.Sprintf(`the agent has %d nodes, and on_destroy is "refuse"`, nodes)) || !strings.Contains(said, fmt.Sprintf("and %d more", nodes-10)) {
		t.Errorf("the refused destroy says %s", said)
	}

	s.apply("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: closed}\nspec: {minAvailable: 1, selector: {matchLabels: {app: first}}}\n")
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "timeout=30s", "-var", "keep_crds=false")
	said = s.fails("destroy", "-auto-approve", "-no-color", "-target", "packhorse_agent.main", "-var", "keep_crds=false")
	if !strings.Contains(said, "it was not deleted in time") || !strings.Contains(said, "held by PodDisruptionBudgets default/closed") {
		t.Errorf("the destroy that is held up says %s", said)
	}
	if err := s.Kube.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Delete(t.Context(), "closed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	s.terraform("destroy", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	if left := s.remains(); len(left) > 0 || s.live("") > 0 || len(s.boughtNodes()) > 0 {
		t.Errorf("destroy left %v, %d instances, %d nodes", left, s.live(""), len(s.boughtNodes()))
	}
}

// many is how many nodes there are at least in the tests of what becomes of them.
const many = 50

// workWide declares a workload that needs a node for each of its pods, and another
// one whose pod has the label app=first.
func (s *installed) workWide() {
	s.t.Helper()
	s.work("first", 1)
	// A port of the host makes each pod have a node of its own.
	s.apply(strings.Replace(deployment("wide", "default", many, "100m", "64Mi"), "          image:", "          ports: [{containerPort: 80, hostPort: 8000}]\n          image:", 1))
	s.untilRunning("wide", many)
	if nodes := len(s.boughtNodes()); nodes < many {
		s.t.Fatalf("%d nodes", nodes)
	}
}
