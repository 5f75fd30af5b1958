package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
)

// Once their cluster is gone, objects can be planned and destroyed, also if somebody has changed their configuration. If
// it may only be elsewhere, Terraform does not forget them.
func TestObjectsOutliveTheirCluster(t *testing.T) {
	const name = "outlives"
	ofOthers(t, "stays-too") // which keeps the definitions for other tests
	terraform := installation(t, name, "")
	declareIn := func(block string, weight int) {
		t.Helper()
		terraform.write(t, map[string]string{"main.tf": block + fmt.Sprintf(`
resource "packhorse_node_profile" "test" {
  name = %[1]q
}
resource "packhorse_provisioner" "test" {
  name         = %[1]q
  weight       = %[2]d
  provider_ref = { name = packhorse_node_profile.test.name }
}
resource "packhorse_agent" "test" {
  namespace = %[1]q
  name      = %[1]q
  timeouts {
    create = "10s"
  }
}
`, name, weight)})
	}
	declare := func(arguments string, weight int) {
		t.Helper()
		declareIn(lookingAhead(arguments), weight)
	}
	declare("", 1)
	if said, err := terraform.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	terraform.run(t, "untaint", "packhorse_agent.test")
	state := filepath.Join(terraform.dir, "terraform.tfstate")
	before, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	cluster := cloud.Cluster{Name: box.ClusterName, Version: box.Version, Endpoint: box.Host, CA: box.CA, IssuerURL: box.Host, IssuerCA: box.CA}
	defer box.Cloud.SetCluster(cluster)
	other := cluster
	other.Name = "another"
	box.Cloud.SetCluster(other)

	says(t, terraform.run(t, "plan"), "provisioner outlives was not refreshed", "node profile outlives was not refreshed", "agent outlives/outlives was not refreshed", "No changes.")
	declare("", 2)
	says(t, terraform.run(t, "plan"), "provisioner outlives was not checked in full", "so that the apply cannot change the object")
	stay := func(why string) {
		t.Helper()
		says(t, terraform.run(t, "plan"), "provisioner outlives was not refreshed", "agent outlives/outlives was not refreshed", why)
		said, err := terraform.try(t, "destroy", "-auto-approve")
		if err == nil {
			t.Errorf("the destroy succeeds: %s", said)
		}
		says(t, said, "provisioner outlives may still exist", "agent outlives/outlives may still exist", why, "Nothing has been changed. Correct the region")
		if left := terraform.run(t, "state", "list"); strings.Count(left, "packhorse_") != 3 {
			t.Errorf("Terraform has forgotten objects, and knows only:\n%s", left)
		}
	}
	declare(`region = "eu-central-1"`, 2)
	stay("Its cluster is arn:aws:eks:eu-west-1:123456789012:cluster/" + box.ClusterName + ", but the provider block names arn:aws:eks:eu-central-1:123456789012:cluster/" + box.ClusterName)
	declare("", 2)
	unrecorded := regexp.MustCompile(`"private": "[^"]*"`).ReplaceAll(before, []byte(`"private": ""`))
	if err := os.WriteFile(state, unrecorded, 0o600); err != nil {
		t.Fatal(err)
	}
	stay("The state does not tell in which region and account its cluster is.")
	if err := os.WriteFile(state, before, 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, terraform.run(t, "destroy", "-auto-approve"), "provisioner outlives counts as deleted with its cluster",
		"Name=tag:karpenter.sh/managed-by,Values="+box.ClusterName, "node profile outlives counts as deleted with its cluster",
		"agent outlives/outlives counts as deleted with its cluster", "3 destroyed")

	// During a destroy, a reference to the cluster that is gone has no value.
	for _, gone := range []string{"terraform_data.cluster.output", `""`} {
		declareIn(fmt.Sprintf("resource \"terraform_data\" \"cluster\" {\n input = %q\n}\nprovider \"packhorse\" {\n cluster_name = %s\n}\n", box.ClusterName, gone), 1)
		if err := os.WriteFile(state, before, 0o600); err != nil {
			t.Fatal(err)
		}
		says(t, terraform.run(t, "destroy", "-auto-approve"), "agent outlives/outlives counts as deleted with its cluster", "3 destroyed")
	}

	// But it may be there.
	box.Cloud.SetCluster(cluster)
	if err := os.WriteFile(state, before, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := terraform.try(t, "destroy", "-auto-approve")
	if err == nil {
		t.Errorf("the destroy without a cluster_name succeeds: %s", said)
	}
	says(t, said, "provisioner outlives cannot be deleted: `cluster_name` is empty", "Write `cluster_name` as text in the provider block, and destroy again.")
	declare("", 1)
	terraform.run(t, "destroy", "-auto-approve")
}

// A provider block that has lost the cluster of an object is an error, unless a destroy may have brought that about: the
// plan would find no change, whatever has changed.
func TestRefreshWithoutACluster(t *testing.T) {
	terraform := newCLI(t, nil)
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	declare := func(arguments string) {
		t.Helper()
		terraform.write(t, map[string]string{"main.tf": head + fmt.Sprintf("provider \"packhorse\" {\n %s\n}\nresource \"packhorse_provisioner\" \"test\" {\n name = \"unreachable\"\n}\n", arguments)})
	}
	declare(fmt.Sprintf("kubernetes = { config_path = %q }", box.Kubeconfig))
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	declare("")
	said, err := terraform.try(t, "plan")
	if err == nil {
		t.Errorf("the plan without a cluster succeeds: %s", said)
	}
	says(t, said, "no cluster is configured")
	declare(fmt.Sprintf("kubernetes = { config_path = %q }", box.Kubeconfig))
	terraform.run(t, "destroy", "-auto-approve")
}
