package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHelmAndManifests lives through installations by the commands that
// docs/installation.md names. TestInstallUpgradeDestroy does it by Terraform.
func TestHelmAndManifests(t *testing.T) {
	s := newInstalled(t, "testdata/agent")
	now, next := s.thisRelease(), s.nextRelease(agentProgram)
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color", "-target", "packhorse_irsa_role.agent")

	t.Run("manifests", func(t *testing.T) {
		s := s.within(t)
		apply := func(r release) {
			s.kubectl(s.manifests(r.agent), "apply", "--server-side", "-f", "-")
			s.kubectl("", "-n", "packhorse", "rollout", "status", "deployment/packhorse-agent", "--timeout=2m")
		}
		apply(now)
		s.work("web", 3)
		s.untilRuns(now)
		s.undisturbed(func() { apply(next); s.untilRuns(next) })
		s.undisturbed(func() { apply(now); s.untilRuns(now) })
		s.wantGlance()

		s.kubectl("", "delete", "provisioners", "--all") // which waits until the nodes are drained
		s.wantNothing()
		s.kubectl(s.manifests(now.agent), "delete", "-f", "-")
		if left := s.remains(); len(left) > 0 {
			t.Errorf("deleting the manifests has left %v", left)
		}
		s.deleteWork()
	})

	t.Run("Helm", func(t *testing.T) {
		s := s.within(t)
		up := func(command string, r release) string {
			return s.helm(command, "packhorse-agent", r.chart, "--namespace", "packhorse", "--create-namespace", "--wait", "--timeout", "2m",
				"--set", "clusterName="+s.Sandbox.ClusterName+",region="+s.Sandbox.Region+",roleArn="+agentRole+",options.log-format=text")
		}
		up("install", now)
		s.work("web", 3)
		s.untilRuns(now)
		s.undisturbed(func() { up("upgrade", next); s.untilRuns(next) })
		s.undisturbed(func() {
			s.helm("rollback", "packhorse-agent", "1", "--namespace", "packhorse", "--wait", "--timeout", "2m")
			s.untilRuns(now)
		})

		// Removed too early: what remains is named, and nothing is lost.
		said := s.helm("uninstall", "packhorse-agent", "--namespace", "packhorse", "--wait")
		for _, kept := range []string{"[CustomResourceDefinition] provisioners.karpenter.sh", "[CustomResourceDefinition] awsnodetemplates.karpenter.k8s.aws"} {
			if !strings.Contains(said, kept) {
				t.Errorf("helm uninstall does not say that it has kept %s: %s", kept, said)
			}
		}
		s.undisturbed(func() { up("install", now); s.untilRuns(now) })

		s.kubectl("", "delete", "provisioners", "--all")
		s.wantNothing()
		s.helm("uninstall", "packhorse-agent", "--namespace", "packhorse", "--wait")
		if left := s.remains(); !slices.Equal(left, []string{"Namespace", "karpenter.sh/v1alpha5", "karpenter.k8s.aws/v1alpha1"}) {
			t.Errorf("helm uninstall has left %v", left)
		}
	})
}

// undisturbed changes the installation, after which all nodes and pods must be
// those that they were, and the agent must buy for what comes then.
func (s *installed) undisturbed(change func()) {
	s.t.Helper()
	nodes, pods := s.boughtNodes(), s.podUIDs("web")
	change()
	s.changes++
	app := fmt.Sprintf("after-%d", s.changes)
	s.apply(deployment(app, "default", 1, "7", "256Mi")) // too large for the nodes that are there
	s.untilRunning(app, 1)
	after := s.boughtNodes()
	if len(after) != len(nodes)+1 {
		s.t.Errorf("%d nodes became %d, by a pod that needs one", len(nodes), len(after))
	}
	for name, uid := range nodes {
		if after[name] != uid {
			s.t.Errorf("node %s is gone or was made anew", name)
		}
	}
	if diff := cmp.Diff(pods, s.podUIDs("web")); diff != "" {
		s.t.Errorf("pods (-before +after):\n%s", diff)
	}
}

// wantNothing fails if nodes or machines are left.
func (s *installed) wantNothing() {
	s.t.Helper()
	if nodes := s.boughtNodes(); len(nodes) > 0 || s.live("") > 0 {
		s.t.Errorf("%d nodes and %d instances are left", len(nodes), s.live(""))
	}
}

// deleteWork removes all workloads.
func (s *installed) deleteWork() {
	s.t.Helper()
	s.kubectl("", "delete", "deployments", "--all", "--namespace", "default")
	s.until("no pod is left", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "")
		return len(pods) == 0, fmt.Sprint(len(pods)), err
	})
}
