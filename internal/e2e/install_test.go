package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestInstallUpgradeDestroy lives through an installation by Terraform.
func TestInstallUpgradeDestroy(t *testing.T) {
	s := newInstalled(t, "testdata/agent")

	// Nobody could run the pods: the apply ends in time and says what is missing.
	if said := s.fails("apply", "-auto-approve", "-no-color", "-var", "timeout=30s"); !strings.Contains(said, "it did not become ready in time: 0 of 2 replicas are available") ||
		!strings.Contains(said, "Unschedulable: no nodes available to schedule pods") {
		t.Errorf("terraform apply without a node says %s", said)
	}
	// The next apply goes on, and takes nothing away that others have declared.
	s.apply(provisioner("default", ""))
	before := s.provisionerUID("default")
	s.startHost()
	if err := s.AwaitLeader(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	s.terraform("apply", "-auto-approve", "-no-color")
	if now := s.provisionerUID("default"); now != before {
		t.Errorf("the Provisioner was deleted and made anew")
	}
	was := s.state()
	if agents := s.host.Agents(); len(agents) != 2 || agents[was.Leader] == nil {
		t.Errorf("leader %q, agents %v", was.Leader, agents)
	}
	if !strings.HasPrefix(was.ImageDigest, "sha256:") || was.CRDVersions["provisioners.karpenter.sh"] != "v1alpha5" || !strings.HasSuffix(was.Image, ":0.1.0-dev") {
		t.Errorf("state %+v", was)
	}
	s.work("web", 3)
	s.wantNoChange()
	s.wantRestricted()

	t.Run("drift is seen and undone", func(t *testing.T) {
		s := s.within(t)
		patch := []byte(`{"spec":{"replicas":1},"metadata":{"labels":{"app.kubernetes.io/part-of":"else"}}}`)
		if _, err := s.Kube.AppsV1().Deployments(stage.Namespace).Patch(t.Context(), stage.ServiceAccount, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubectl"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Kube.CoreV1().Services(stage.Namespace).Delete(t.Context(), stage.ServiceAccount, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		said := flat(s.terraform("apply", "-auto-approve", "-no-color"))
		for _, want := range []string{"replicas = 1 -> 2", "Service packhorse-agent is not there", `part-of is "else", declared is "packhorse"`} {
			if !strings.Contains(said, want) {
				t.Errorf("the apply does not say %q: %s", want, said)
			}
		}
		s.wantNoChange()
	})
	t.Run("upgrade and downgrade disturb no node", func(t *testing.T) {
		s := s.within(t)
		now, next := s.thisRelease(), s.nextRelease(agentProgram, providerProgram)
		if err := s.workspace.Offer(next.version, next.provider); err != nil {
			t.Fatal(err)
		}
		s.undisturbed(func() { s.useProvider(next.version); s.untilRuns(next) })
		if then := s.state(); then.Image != install.DefaultImage(next.version) || s.host.Agents()[then.Leader] == nil || then.ImageDigest == was.ImageDigest {
			t.Errorf("after the upgrade: %+v", then)
		}
		s.undisturbed(func() { s.useProvider(stage.ProviderVersion); s.untilRuns(now) })
		if then := s.state(); then.ImageDigest != was.ImageDigest || then.Revision != was.Revision || then.Leader == was.Leader {
			t.Errorf("there and back: %+v, before %+v", then, was)
		}
	})

	s.terraform("apply", "-auto-approve", "-no-color", "-var", "on_destroy=refuse")
	if said := s.fails("destroy", "-auto-approve", "-no-color", "-var", "on_destroy=refuse", "-target", "packhorse_agent.main"); !strings.Contains(said, "Nothing has been deleted.") ||
		!strings.Contains(said, "provisioner default; instance aws:///") {
		t.Errorf("the refused destroy says %s", said)
	}
	s.terraform("apply", "-auto-approve", "-no-color")
	if said := s.fails("destroy", "-auto-approve", "-no-color", "-target", "packhorse_agent.main"); !strings.Contains(said, "provisioners that this destroy does not delete have ") {
		t.Errorf("the destroy under nodes of others says %s", said)
	}
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	s.terraform("destroy", "-auto-approve", "-no-color", "-var", "keep_crds=false") // drains
	if left := s.remains(); len(left) > 0 || s.live("") > 0 || len(s.boughtNodes()) > 0 {
		t.Errorf("destroy left %v, %d instances and the nodes %v", left, s.live(""), s.boughtNodes())
	}
}

// TestDestroyOrphans gives fifty nodes up, because the agent is dead.
func TestDestroyOrphans(t *testing.T) {
	s := newInstalled(t, "testdata/agent")
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color")
	s.workWide()
	live := s.live("")

	if err := s.Kube.CoreV1().Nodes().Delete(t.Context(), s.host.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.host.Stop(); err != nil {
		t.Fatal(err)
	}
	s.until("nobody leads", func(ctx context.Context) (bool, string, error) {
		lease, err := s.Kube.CoordinationV1().Leases(stage.Namespace).Get(ctx, stage.ServiceAccount, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		return *lease.Spec.HolderIdentity == "", *lease.Spec.HolderIdentity, nil
	})
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	said := s.fails("destroy", "-auto-approve", "-no-color", "-target", "packhorse_agent.main", "-var", "keep_crds=false")
	if !strings.Contains(said, "no agent is running that could drain them") || !strings.Contains(said, `on_destroy = "orphan"`) || !strings.Contains(said, "provisioner default; instance aws:///") {
		t.Errorf("the destroy without an agent says %s", said)
	}
	s.guideAll()
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "on_destroy=orphan", "-var", "keep_crds=false") // which changes nothing in the cluster
	said = flat(s.terraform("destroy", "-auto-approve", "-no-color", "-var", "on_destroy=orphan", "-var", "keep_crds=false"))
	if !strings.Contains(said, explain.Plural(live, "node")+" will continue to run without an agent") {
		t.Errorf("the destroy says %s", said)
	}
	if s.live("") != live {
		t.Errorf("%d instances run, %d before", s.live(""), live)
	}
	nodes, err := s.nodes(t.Context(), "")
	if err != nil || len(nodes) != live {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	for _, n := range nodes {
		if slices.Contains(n.Finalizers, api.Finalizer) || len(n.OwnerReferences) > 0 || n.DeletionTimestamp != nil || len(n.Spec.Taints) > 0 {
			t.Errorf("node %s: finalizers %v, owners %v, deleted %v, taints %v", n.Name, n.Finalizers, n.OwnerReferences, n.DeletionTimestamp, n.Spec.Taints)
		}
	}
	if left := s.remains(); len(left) > 0 {
		t.Errorf("destroy left %v", left)
	}
}

// guideAll gives all nodes the soft taints of an agent that led pods away from them.
func (s *installed) guideAll() {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range nodes {
		n := &nodes[i]
		n.Spec.Taints = cluster.WithGuide(n.Spec.Taints, 2)
		if _, err := s.Kube.CoreV1().Nodes().Update(s.t.Context(), n, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// useProvider applies the configuration with a version of the provider.
func (s *installed) useProvider(version string) {
	s.t.Helper()
	main := filepath.Join(s.workspace.Dir, "main.tf")
	text, err := os.ReadFile(main)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("main.tf", regexp.MustCompile(`source = "packhorse/packhorse".*}`).ReplaceAllString(string(text), `source = "packhorse/packhorse", version = "`+version+`" }`))
	s.terraform("init", "-upgrade", "-no-color")
	s.terraform("apply", "-auto-approve", "-no-color")
	s.wantNoChange()
}

// provisionerUID tells a Provisioner from one that was made anew under its name.
func (s *installed) provisionerUID(name string) types.UID {
	s.t.Helper()
	live, err := s.Dynamic.Resource(api.ProvisionerGVR).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return live.GetUID()
}

// within returns the scene as a subtest sees it.
func (s *installed) within(t *testing.T) *installed {
	return &installed{scene: s.in(t), host: s.host}
}

func (s *installed) wantNoChange() {
	s.t.Helper()
	if plan := s.terraform("plan", "-no-color"); !strings.Contains(plan, "No changes") {
		s.t.Errorf("the plan is not empty:\n%s", plan)
	}
}

// write puts a file into the workspace.
func (s *installed) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.workspace.Dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}
