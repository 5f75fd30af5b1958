package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

const expiredToken = `<ErrorResponse><Error><Type>Sender</Type><Code>ExpiredToken</Code><Message>The security token has expired</Message></Error></ErrorResponse>`

// Terraform plans again when it applies a saved plan. If the credentials have expired since, each resource says so,
// and not that the provider has a bug.
func TestSavedPlanWithExpiredCredentials(t *testing.T) {
	var expired atomic.Bool
	forward := forwarding(t, box.AWSEndpoint, nil)
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if expired.Load() {
			w.Header().Set("Content-Type", "text/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, expiredToken)
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(aws.Close)
	t.Setenv("AWS_ENDPOINT_URL", aws.URL)
	t.Setenv("AWS_ENDPOINT_URL_STS", aws.URL)
	terraform := newCLI(t, nil)
	declare := func(stage string) {
		agent := agentAccount + "\n identity = \"pod-identity\"\n preset = \"agent\"\n node_roles = [\"packhorse-node\"]"
		config := requiring()
		for typeName, arguments := range map[string]string{"packhorse_node_role": "", "packhorse_irsa_role": agent, "packhorse_interruption_queue": ""} {
			config += fmt.Sprintf("resource %q \"test\" {\n name = \"saved-%s\"\n tags = { stage = %q }\n %s\n}\n", typeName, typeName, stage, arguments)
		}
		terraform.write(t, map[string]string{"main.tf": config})
	}
	declare("one")
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	declare("two")
	terraform.run(t, "plan", "-out=plan.bin")
	expired.Store(true)
	out, err := terraform.try(t, "apply", "plan.bin")
	if err == nil || broken.MatchString(out) || len(words("The security token has expired").FindAllString(out, -1)) != 3 {
		t.Errorf("error %v, want one of each resource about the token:\n%s", err, out)
	}
	// What does not change can be planned without AWS, and what changes too.
	terraform.run(t, "plan", "-refresh=false", "-target=packhorse_node_role.test", "-target=packhorse_interruption_queue.test")
	declare("one")
	if out := terraform.run(t, "plan", "-refresh=false", "-detailed-exitcode"); broken.MatchString(out) {
		t.Errorf("a plan without AWS says:\n%s", out)
	}
	expired.Store(false)
	terraform.run(t, "destroy", "-auto-approve")
}

// A catalogue that only the job of the plan has is named by that of the apply.
func TestSavedPlanWithoutItsCatalogue(t *testing.T) {
	file := catalogueFile(t)
	terraform := newCLI(t, nil)
	terraform.write(t, map[string]string{"main.tf": watchful(fmt.Sprintf("catalogue_file = %q", file)) +
		"resource \"packhorse_provisioner\" \"test\" {\n name = \"saved\"\n}\n"})
	terraform.run(t, "init")
	terraform.run(t, "plan", "-out=plan.bin")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	out, err := terraform.try(t, "apply", "plan.bin")
	if err == nil || broken.MatchString(out) {
		t.Errorf("error %v, want one about the catalogue:\n%s", err, out)
	}
	wantText(t, "the apply", out, "provisioner saved: `catalogue_file`: open "+file)
}

// What depends on the region of the environment is not part of a plan that may be applied elsewhere.
func TestSavedPlanWithoutItsRegion(t *testing.T) {
	terraform := newCLI(t, nil)
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	terraform.write(t, map[string]string{"main.tf": head + fmt.Sprintf(
		"provider \"packhorse\" {\n kubernetes = { config_path = %q }\n}\nresource \"packhorse_provisioner\" \"test\" {\n name = \"saved-elsewhere\"\n}\n", box.Kubeconfig)})
	terraform.run(t, "init")
	says(t, terraform.run(t, "plan", "-out=plan.bin"), "plan_preview = (known after apply)", "matching instance types in "+box.Region, "set `region` in the provider block")
	t.Setenv("AWS_REGION", "") // which the provider reads, in this process
	t.Setenv("AWS_DEFAULT_REGION", "")
	terraform.run(t, "apply", "plan.bin")
	terraform.run(t, "destroy", "-auto-approve")
}
