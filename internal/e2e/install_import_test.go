package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestImportInstallation takes an installation over that was made by manifests,
// marked as Helm marks what it installs, and removes it.
func TestImportInstallation(t *testing.T) {
	s := newInstalled(t, "testdata/agent")
	s.startHost()
	main, err := os.ReadFile(filepath.Join(s.workspace.Dir, "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	// An imported resource has no timeouts.
	s.write("main.tf", regexp.MustCompile(`(?s)\n  timeouts \{.*?\n  \}\n`).ReplaceAllString(string(main), ""))
	s.terraform("apply", "-auto-approve", "-no-color", "-target", "packhorse_irsa_role.agent")

	manifests := s.manifests(s.built("packhorse-agent"), "--memory", "1Gi")
	helm := "  annotations: {meta.helm.sh/release-name: packhorse-agent, meta.helm.sh/release-namespace: packhorse}\n  labels:\n    app.kubernetes.io/managed-by: Helm\n"
	s.apply(strings.Replace(manifests, "kind: Deployment\nmetadata:\n  labels:\n", "kind: Deployment\nmetadata:\n"+helm, 1))
	if err := s.AwaitLeader(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	s.work("web", 3)
	nodes := s.boughtNodes()

	s.write("import.tf", "import {\n  to = packhorse_agent.main\n  id = \"packhorse/packhorse-agent\"\n}\n")
	if plan := s.terraform("plan", "-no-color"); !strings.Contains(plan, "Plan: 1 to import, 0 to add, 0 to change, 0 to destroy.") {
		t.Errorf("the plan of the import changes something:\n%s", plan)
	}
	s.terraform("apply", "-auto-approve", "-no-color")
	s.wantNoChange()
	if state := s.state(); s.host.Agents()[state.Leader] == nil {
		t.Errorf("state %+v", state)
	}

	// Fields that the other way of installing has declared are taken over.
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "image=registry.example.com/packhorse-agent:2.0.0")
	d, err := s.Kube.AppsV1().Deployments(stage.Namespace).Get(t.Context(), stage.ServiceAccount, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.example.com/packhorse-agent:2.0.0" {
		t.Errorf("image %s", image)
	}
	if now := s.boughtNodes(); len(now) != len(nodes) {
		t.Errorf("nodes %v, before %v", now, nodes)
	}
	s.terraform("apply", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	s.terraform("destroy", "-auto-approve", "-no-color", "-var", "keep_crds=false")
	if left := s.remains(); len(left) > 0 || s.live("") > 0 {
		t.Errorf("destroy left %v and %d instances", left, s.live(""))
	}
}
