package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A name that is taken is found by the plan, before anything is applied.
func TestPlanFindsNamesThatAreTaken(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, api.ProvisionerKind, "theirs", "{weight: 3}")
	defer remove(t, api.ProvisionerGVR, "theirs")
	provisioner := func(label, name string) string {
		return fmt.Sprintf("resource \"packhorse_provisioner\" %q {\n name = %q\n}\n", label, name)
	}
	terraform := newCLI(t, nil)
	config := func(resources ...string) {
		terraform.write(t, map[string]string{"main.tf": watchful("") + strings.Join(resources, "")})
	}
	config(provisioner("ours", "ours"))
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	for title, c := range map[string]struct {
		resources []string
		want      string // empty for a plan that succeeds
	}{
		"an object that is there":       {[]string{provisioner("ours", "ours"), provisioner("new", "theirs")}, "provisioner theirs already exists"},
		"two new resources":             {[]string{provisioner("ours", "ours"), provisioner("a", "twice"), provisioner("b", "twice")}, `two resources declare the provisioner "twice"`},
		"a copy of a resource":          {[]string{provisioner("ours", "ours"), provisioner("copy", "ours")}, `two resources declare the provisioner "ours"`},
		"a new name that is taken":      {[]string{provisioner("ours", "theirs")}, "provisioner theirs already exists"},
		"the same name of another kind": {[]string{provisioner("ours", "ours"), "resource \"packhorse_node_profile\" \"a\" {\n name = \"ours\"\n}\n"}, ""},
	} {
		config(c.resources...)
		out, err := terraform.try(t, "plan")
		if (err != nil) != (c.want != "") {
			t.Errorf("%s: %v\n%s", title, err, out)
		}
		wantText(t, title, out, c.want)
	}
	config(provisioner("ours", "ours"))
	for title, args := range map[string][]string{
		"a replacement that was asked for": {"apply", "-auto-approve", "-replace=packhorse_provisioner.ours"},
		"one of a tainted resource":        {"apply", "-auto-approve"},
	} {
		if title == "one of a tainted resource" {
			terraform.run(t, "taint", "packhorse_provisioner.ours")
		}
		t.Log(title)
		terraform.run(t, args...)
	}
	terraform.run(t, "destroy", "-auto-approve")
}

// Access that cannot work is one error for all resources, and no warning.
func TestWrongAccessIsOneError(t *testing.T) {
	resources := ""
	for _, name := range []string{"a", "b", "c"} {
		resources += fmt.Sprintf("resource \"packhorse_provisioner\" %q {\n name = \"access-%s\"\n provider_ref = { name = \"default\" }\n}\n", name, name)
	}
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	certificate := strings.ReplaceAll(string(box.CA), "\n", `\n`)
	for title, c := range map[string]struct{ block, want string }{
		"a token that is not taken":            {fmt.Sprintf("kubernetes = { host = %q, cluster_ca_certificate = \"%s\", token = \"wrong\" }", box.Host, certificate), "Unauthorized"},
		"a certificate of nobody":              {fmt.Sprintf("kubernetes = { host = %q, token = \"wrong\" }", box.Host), "certificate signed by unknown authority"},
		"a profile that is not there":          {fmt.Sprintf("cluster_name = %q\n profile = \"nobody\"", box.ClusterName), "failed to get shared config profile, nobody"},
		"a file that is not there":             {`kubernetes = { config_path = "nowhere" }`, "nowhere"},
		"a profile that is not there, for AWS": {fmt.Sprintf("kubernetes = { host = %q, token = \"wrong\" }\n profile = \"nobody\"", box.Host), "certificate signed by unknown authority"},
	} {
		t.Run(title, func(t *testing.T) {
			terraform := newCLI(t, nil)
			terraform.write(t, map[string]string{"main.tf": head + "provider \"packhorse\" {\n" + c.block + "\n}\n" + resources})
			terraform.run(t, "init")
			out, err := terraform.try(t, "plan")
			if err == nil {
				t.Error("the plan has succeeded")
			}
			wantText(t, "the plan", out, c.want)
			if errors, warnings := strings.Count(out, "Error: "), strings.Count(out, "Warning: "); errors != 1 || warnings != 0 {
				t.Errorf("%d errors and %d warnings, want one error:\n%s", errors, warnings, out)
			}
		})
	}
}

// The apply may create the cluster although the plan knows its name, so that only the apply needs it.
func TestAMissingClusterIsAWarning(t *testing.T) {
	const missing = `find cluster "nowhere": no such EKS cluster in this region and account`
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	terraform := newCLI(t, nil)
	config := func(cluster string, resources ...string) {
		terraform.write(t, map[string]string{"main.tf": head +
			fmt.Sprintf("resource \"terraform_data\" \"cluster\" {\n input = %q\n}\nprovider \"packhorse\" {\n cluster_name = terraform_data.cluster.input\n}\n", cluster) +
			strings.Join(resources, "")})
	}
	provisioner := "resource \"packhorse_provisioner\" \"test\" {\n name = \"early\"\n provider_ref = { name = packhorse_node_profile.test.name }\n}\n"
	profile := "resource \"packhorse_node_profile\" \"test\" {\n name = \"early\"\n}\n"
	config("nowhere", profile, provisioner)
	terraform.run(t, "init")
	out := terraform.run(t, "plan")
	wantText(t, "the plan", out, "provisioner early was not checked in full")
	wantText(t, "the plan", out, missing+", so that the apply fails unless it creates the cluster first")
	out, err := terraform.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Error("the apply has succeeded")
	}
	wantText(t, "the apply", out, "Error: no access to the cluster: "+missing)

	config(box.ClusterName, profile)
	terraform.run(t, "apply", "-auto-approve")
	for _, way := range []string{"-refresh=true", "-refresh=false"} {
		config("nowhere", strings.Replace(profile, "}\n", " subnet_selector = { a = \"b\" }\n}\n", 1))
		wantText(t, "the plan of what exists, "+way, terraform.run(t, "plan", way), missing+", so that the apply cannot change the object")
	}
	config(box.ClusterName)
	terraform.run(t, "apply", "-auto-approve")
}

// What Terraform reads during the plan can wait for a cluster of the same apply only if it says so.
func TestDataSourcesOfAClusterOfTheSameApply(t *testing.T) {
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	const advice = "such as with `depends_on = [module.eks]`"
	terraform := newCLI(t, nil)
	config := func(cluster, of, more string) {
		terraform.write(t, map[string]string{"main.tf": head + fmt.Sprintf(
			"resource \"terraform_data\" \"cluster\" {\n input = %q\n}\nprovider \"packhorse\" {\n cluster_name = terraform_data.cluster.%s\n}\n", cluster, of) + more})
	}
	terraform.write(t, map[string]string{"main.tf": requiring()})
	terraform.run(t, "init")
	for source, arguments := range map[string]string{"cluster": "", "discovery": "", "nodes": "", "simulation": "", "instance_types": "", "iam_policies": "node_roles = []"} {
		config(box.ClusterName, "output", fmt.Sprintf("data \"packhorse_%s\" \"test\" {\n %s\n}\n", source, arguments))
		out, err := terraform.try(t, "plan")
		if err == nil {
			t.Errorf("%s has been read", source)
		}
		wantText(t, source, out, advice)
	}
	config("nowhere", "input", "data \"packhorse_cluster\" \"test\" {\n}\n")
	out, _ := terraform.try(t, "plan")
	wantText(t, "a cluster that does not exist", out, advice)
	config(box.ClusterName, "output", "ephemeral \"packhorse_cluster_token\" \"test\" {\n}\n")
	out, _ = terraform.try(t, "plan")
	wantText(t, "a token", out, "or apply the cluster first with `-target`")
	config(box.ClusterName, "output", "data \"packhorse_cluster\" \"test\" {\n depends_on = [terraform_data.cluster]\n}\n")
	terraform.run(t, "apply", "-auto-approve")
}

// A resource that says nothing but its name is one that leaves all to the defaults.
func TestOnlyAName(t *testing.T) {
	for typeName, arguments := range map[string][]string{
		"packhorse_provisioner":  {"", "labels = {}\n requirements = []\n limits = {}", "consolidation = { enabled = true }", ""},
		"packhorse_node_profile": {"", "subnet_selector = {}\n security_group_selector = {}", `subnet_selector = { a = "b" }`, "metadata_options = {}", ""},
	} {
		t.Run(typeName, func(t *testing.T) {
			terraform := newCLI(t, nil)
			for i, more := range arguments {
				terraform.write(t, map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource %q \"test\" {\n name = \"nameless\"\n %s\n}\n", typeName, more)})
				if i == 0 {
					terraform.run(t, "init")
				}
				terraform.run(t, "apply", "-auto-approve")
				wantNoChange(t, "the plan after "+more, terraform.plan(t))
			}
			terraform.run(t, "destroy", "-auto-approve")
		})
	}
}
