package provider_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// The same kubeconfig leads to another cluster, which has objects of the same names. An
// apply without a refresh, or of a plan that was made before, changes none of them.
func TestAnotherClusterIsNotChanged(t *testing.T) {
	const name = "astray"
	ofOthers(t, "stays") // which keeps the definitions for other tests
	var astray atomic.Bool
	kubeconfig := serveCluster(t, func(forward http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if astray.Load() && r.URL.Path == "/api/v1/namespaces/kube-system" { // whose UID is the cluster's
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system","uid":"another"}}`)
				return
			}
			forward.ServeHTTP(w, r)
		})
	})
	terraform := installation(t, name, "")
	declare := func(weight, replicas int) {
		t.Helper()
		terraform.write(t, map[string]string{"main.tf": fmt.Sprintf(`
provider "packhorse" {
  kubernetes  = { config_path = %q }
  plan_checks = "off"
}
resource "packhorse_provisioner" "test" {
  name   = %q
  weight = %d
}
resource "packhorse_agent" "test" {
  namespace    = %[2]q
  name         = %[2]q
  cluster_name = "prod"
  region       = "eu-west-1"
  replicas     = %[4]d
  timeouts {
    create = "10s"
  }
}
`, kubeconfig, name, weight, replicas)})
	}
	refused := func(args ...string) {
		t.Helper()
		astray.Store(true)
		defer astray.Store(false)
		said, err := terraform.try(t, args...)
		if err == nil {
			t.Errorf("terraform %s succeeds: %s", args, said)
		}
		says(t, said, "provisioner astray belongs to another cluster", "agent astray/astray belongs to another cluster", "Nothing has been changed.")
		if weight := object(t, api.ProvisionerGVR, name).Object["spec"].(map[string]any)["weight"]; weight != int64(1) {
			t.Errorf("the provisioner of the other cluster has the weight %v", weight)
		}
		live, err := kube.AppsV1().Deployments(name).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || *live.Spec.Replicas != 2 {
			t.Errorf("the agent of the other cluster has changed: %v", err)
		}
	}
	declare(1, 2)
	if said, err := terraform.try(t, "apply", "-auto-approve"); err == nil {
		t.Fatalf("the apply succeeds without a node: %s", said)
	}
	terraform.run(t, "untaint", "packhorse_agent.test")
	declare(2, 1)
	refused("apply", "-auto-approve", "-refresh=false")
	terraform.run(t, "plan", "-destroy", "-out=plan.bin")
	refused("apply", "plan.bin")
	terraform.run(t, "destroy", "-auto-approve")
}
