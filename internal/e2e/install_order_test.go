package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestRemovalInTheWrongOrder deletes by hand what should go last: no instance runs
// on unnoticed.
func TestRemovalInTheWrongOrder(t *testing.T) {
	s := newInstalled(t, "testdata/agent")
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color", "-target", "packhorse_irsa_role.agent")
	manifests := s.manifests(s.built("packhorse-agent"))
	s.install(manifests)
	s.work("web", 3)

	t.Run("the definitions first", func(t *testing.T) {
		s := s.within(t)
		// The command ends when they are gone: the agent has removed all nodes by then.
		s.kubectl("", "delete", "crds", "provisioners.karpenter.sh", "awsnodetemplates.karpenter.k8s.aws", "--timeout=2m")
		s.wantNothing()
	})
	s.deleteWork()

	s.install(manifests)
	s.work("api", 3)
	t.Run("the namespace first", func(t *testing.T) {
		s := s.within(t)
		s.kubectl("", "delete", "namespace", stage.Namespace, "--timeout=2m")
		s.wantNamed()
		s.kubectl(manifests, "apply", "--server-side", "-f", "-") // the agent finishes what was begun
		s.kubectl("", "delete", "provisioners", "--all", "--timeout=2m")
		s.wantNothing()
	})
	s.deleteWork()

	s.install(manifests)
	s.work("cache", 3)
	t.Run("everything at once", func(t *testing.T) {
		s := s.within(t)
		s.kubectl(manifests, "delete", "-f", "-", "--wait=false")
		s.kubectl("", "wait", "--for=delete", "namespace/"+stage.Namespace, "--timeout=2m")
		s.wantNamed()
		s.kubectl(manifests, "apply", "--server-side", "-f", "-")
		// The definition is held by its Provisioner, and that by its nodes.
		s.kubectl("", "wait", "--for=delete", "crd/provisioners.karpenter.sh", "--timeout=2m")
		s.wantNothing()
	})
}

// wantNamed fails if machines run on without an agent and the commands that a
// user would try next do not say so.
func (s *installed) wantNamed() {
	s.t.Helper()
	nodes, live := s.boughtNodes(), s.live("")
	if len(nodes) == 0 || live != len(nodes) || len(s.host.Agents()) > 0 {
		s.t.Fatalf("%d nodes, %d instances, %d agents", len(nodes), live, len(s.host.Agents()))
	}
	// The column NODES.
	if said := s.kubectl("", "get", "provisioners", "--no-headers"); !slices.Contains(strings.Fields(said), strconv.Itoa(len(nodes))) {
		s.t.Errorf("kubectl get provisioners does not tell %d nodes: %s", len(nodes), said)
	}
	_, top, err := s.try("", s.built("packhorse-agent"), "top")
	if err == nil || !strings.Contains(top, "no agent leads in namespace packhorse") {
		s.t.Errorf("packhorse-agent top: %v, %s", err, top)
	}
	for name := range nodes {
		if !strings.Contains(top, name) {
			s.t.Errorf("packhorse-agent top does not name node %s: %s", name, top)
		}
		said := s.kubectlFails("delete", "node", name, "--timeout=1s")
		if !strings.Contains(said, "timed out waiting for the condition on nodes/"+name) {
			s.t.Errorf("kubectl delete node says %s", said)
		}
	}
	if now := s.boughtNodes(); len(now) != len(nodes) || s.live("") != live {
		s.t.Errorf("%d nodes and %d instances, before %d and %d", len(now), s.live(""), len(nodes), live)
	}
}

// install applies manifests and waits until custom resources are served.
func (s *installed) install(manifests string) {
	s.t.Helper()
	s.kubectl(manifests, "apply", "--server-side", "-f", "-")
	s.kubectl("", "wait", "--for=condition=Established", "--timeout=1m", "crds", "--all")
}
