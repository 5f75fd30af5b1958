package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// otherPages are run in a cluster that has the definitions, where no agent runs.
var otherPages = []way{
	{"docs/resources/*.md", (*reader).resourcePage},
	{"docs/data-sources/*.md", (*reader).configurationPage},
	{"docs/functions/*.md", (*reader).configurationPage},
	{"docs/ephemeral-resources/*.md", (*reader).configurationPage},
	{"docs/list-resources/*.md", (*reader).queryPage},
	{"docs/guides/simulating.md", (*reader).simulatingPage},
	{"docs/guides/plans-without-a-cluster.md", (*reader).offlinePage},
	{"docs/guides/moving-from-karpenter.md", (*reader).movingPage},
	{"docs/guides/moving-from-node-groups.md", (*reader).importingPage},
	{"docs/guides/from-modules-karpenter.md", (*reader).modulePage},
	{"docs/consolidation.md", (*reader).manifestPage},
	{"docs/operations.md", (*reader).manifestPage},
	{"README.md", (*reader).readme},
	{"CONTRIBUTING.md", (*reader).contributing},
	{"docs/conformance.md", (*reader).contributing},
	{"docs/iam.md", (*reader).policyPage},
}

// TestPages runs the snippets of all pages that need no agent.
func TestPages(t *testing.T) {
	r := newReader(t)
	for _, crd := range api.CRDs() {
		r.check(r.Apply(t.Context(), crd.YAML))
	}
	r.untilServed()
	for _, p := range readPages(t) {
		_, withAgent := wayOf(pagesOfTheAgent, p)
		if w, ok := wayOf(otherPages, p); ok && !withAgent && p.runnable() {
			t.Run(p.path, func(t *testing.T) {
				sub := r.in(t)
				sub.have(p)
				w.run(sub, p)
			})
		}
	}
}

// beside returns a folder with the provider block of the index, unless the snippet
// brings its own.
func (r *reader) beside(snippet string) *folder {
	f := r.folder()
	if !strings.Contains(snippet, "provider \"packhorse\" {\n  cluster_name") && !strings.Contains(snippet, "provider \"packhorse\" {\n  kubernetes") {
		f.write("provider.tf", r.page("docs/index.md").terraform()[0])
	}
	f.write("main.tf", snippet)
	return f
}

// required says where the provider comes from, for blocks that leave it out.
const required = "terraform {\n  required_providers {\n    packhorse = { source = \"packhorse/packhorse\" }\n  }\n}\n"

// manifestPage checks the manifests of a page, and has the API server take them.
func (r *reader) manifestPage(p page) {
	f := r.folder()
	for _, manifest := range p.in("yaml") {
		f.write("manifest.yaml", manifest)
		f.sh("packhorse-agent validate -f manifest.yaml")
		f.sh("kubectl apply --dry-run=server -f manifest.yaml")
	}
}

// configurationPage applies each configuration of a page by itself.
func (r *reader) configurationPage(p page) {
	for _, snippet := range p.terraform() {
		f := r.beside(snippet)
		f.apply()
		f.destroy()
	}
}

// resourcePage applies the example of a resource, and imports what it has made in each
// of the ways that the page shows.
func (r *reader) resourcePage(p page) {
	snippets := p.terraform()
	made := r.beside(snippets[0])
	made.apply()
	for _, block := range snippets[1:] {
		if strings.Contains(block, "identity = {") && !made.engineImportsByIdentity() {
			r.t.Log("NOT RUN: import by identity, which this version of Terraform does not have")
			continue
		}
		f := made.without(snippets[0], importedAddress.FindStringSubmatch(block)[1])
		f.write("import.tf", block)
		if said := f.sh("terraform plan"); !strings.Contains(said, "1 to import, 0 to add, ") || !strings.Contains(said, " 0 to destroy") {
			r.t.Errorf("%s\nplans\n%s\nwant one import, and nothing made or destroyed", block, said)
		}
	}
	for _, command := range p.in("shell") {
		f := made.without(snippets[0], importCommand.FindStringSubmatch(command)[1])
		f.sh(command)
	}
	made.destroy()
}

var (
	importedAddress = regexp.MustCompile(`to += (\S+)`)
	importCommand   = regexp.MustCompile(`terraform import (\S+)`)
)

// without returns a folder like this one whose state has lost one resource.
func (f *folder) without(snippet, address string) *folder {
	f.t.Helper()
	state, err := os.ReadFile(filepath.Join(f.dir, "terraform.tfstate"))
	f.check(err)
	out := f.beside(snippet)
	out.write("terraform.tfstate", string(state))
	out.sh("terraform init && terraform state rm " + address)
	return out
}

var engineVersion = regexp.MustCompile(`v1\.(\d+)\.`)

func (f *folder) engineImportsByIdentity() bool {
	f.t.Helper()
	var minor int
	if found := engineVersion.FindStringSubmatch(f.sh("terraform version")); found != nil {
		_, err := fmt.Sscan(found[1], &minor)
		f.check(err)
	}
	return minor >= 12
}

// queryPage writes the list blocks beside the provider block. Terraform 1.14 and later
// runs them; with older ones they are tested through the protocol (provider: TestList).
func (r *reader) queryPage(p page) {
	for _, snippet := range p.terraform() {
		f := r.beside("")
		f.write("all.tfquery.hcl", snippet)
		f.sh("terraform init")
		if out, err := f.try("terraform query -help"); err != nil && !strings.Contains(out, "Usage: terraform [global options] query") {
			r.t.Log("NOT RUN: terraform query, which this version of Terraform does not have")
			continue
		}
		f.sh("terraform query")
	}
}

// tooMuch is a workload for which every gate of the pages has to close.
const tooMuch = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: shop}
spec:
  replicas: 3000
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec:
      containers: [{name: main, image: api, resources: {requests: {cpu: "2", memory: 4Gi}}}]
`

// workload is the manifest that the guides take their prices from.
func (r *reader) workload() string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", "guides", "plan-offline", "deployment.yaml"))
	r.check(err)
	return string(text)
}

// gate plans a configuration whose postcondition has to let a workload pass at plan,
// and to stop another with exit code 1 before anything is applied.
func (f *folder) gate(plan string) {
	f.t.Helper()
	f.write("deployment.yaml", f.workload())
	f.sh(plan)
	f.write("deployment.yaml", tooMuch)
	if said := f.fails(1, plan); !strings.Contains(said, "dollars a month") {
		f.t.Errorf("the gate closes without its message:\n%s", said)
	}
}

func (r *reader) simulatingPage(p page) {
	snippets := p.terraform()
	drafts := r.beside(snippets[0])
	if said := drafts.sh("terraform init && terraform plan"); strings.Contains(said, "monthly_prices = (known after apply)") {
		r.t.Errorf("the prices are known only after apply:\n%s", said)
	}
	drafts.apply()
	drafts.destroy()
	r.beside(snippets[1]).gate("terraform init && terraform plan")
}

// offlinePage saves the catalogue, plans with nothing else at hand, and with a cluster
// that another module declares.
func (r *reader) offlinePage(p page) {
	snippets, commands := p.terraform(), p.in("sh")
	f := r.folder()
	f.write("main.tf", snippets[0])
	f.sh(commands[0])
	for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"} {
		f.env = append(f.env, variable+"=http://127.0.0.1:1")
	}
	f.gate("terraform init\n" + commands[1])
	inTheSameApply := r.folder()
	inTheSameApply.write("provider.tf", required+snippets[1])
	inTheSameApply.moduleEKS()
	inTheSameApply.write("main.tf", "resource \"packhorse_provisioner\" \"test\" {\n  name = \"of-a-module\"\n}\n")
	inTheSameApply.apply()
	inTheSameApply.destroy()
	inTheSameApply.write("main.tf", snippets[2])
	inTheSameApply.sh("terraform plan")
}

// importingPage imports the cluster as the page says and applies its example.
func (r *reader) importingPage(p page) {
	r.check(r.Apply(r.t.Context(), []byte("apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: there}\nspec: {providerRef: {name: there}}\n"+
		"---\napiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: there}\n"+
		"spec: {instanceProfile: packhorse-node, subnetSelector: {karpenter.sh/discovery: prod}, securityGroupSelector: {karpenter.sh/discovery: prod}}\n")))
	f := r.folder()
	said := f.sh(strings.Join(p.in("sh"), "\n"))
	if len(p.in("sh")) > 1 && !strings.Contains(said, " to import, 0 to add, 0 to change, 0 to destroy") {
		r.t.Errorf("the plan of the import is not one of imports alone:\n%s", said)
	}
	f.sh("kubectl delete provisioners,awsnodetemplates there")
	r.configurationPage(p)
}

// movingPage has a cluster with a NodePool in which Karpenter does not run any more.
func (r *reader) movingPage(p page) {
	for _, name := range []string{"nodepool-crds.yaml", "nodepools.yaml"} {
		text, err := os.ReadFile(filepath.Join(root, "internal/e2e/testdata", name))
		r.check(err)
		text = []byte(strings.ReplaceAll(string(text), "CLUSTER", "prod"))
		r.check(r.Apply(r.t.Context(), text))
		if name == "nodepool-crds.yaml" {
			r.folder().sh("kubectl wait --for=condition=Established crd/nodepools.karpenter.sh crd/ec2nodeclasses.karpenter.k8s.aws crd/nodeclaims.karpenter.sh")
		}
	}
	r.folder().sh("kubectl --namespace kube-system create deployment karpenter --image=karpenter --replicas=0")
	r.importingPage(p)
	r.folder().sh("kubectl --namespace kube-system delete deployment karpenter")
	r.folder().sh("kubectl delete crd nodepools.karpenter.sh ec2nodeclasses.karpenter.k8s.aws nodeclaims.karpenter.sh")
}

// readme applies the configuration of the README and runs its commands on its example.
func (r *reader) readme(p page) {
	f := r.folder()
	f.check(os.CopyFS(filepath.Join(f.dir, "examples"), os.DirFS(filepath.Join(root, "examples"))))
	f.check(os.Symlink(filepath.Dir(r.built("packhorse-agent")), filepath.Join(f.dir, "bin"))) // as after `make build`
	commands := p.in("sh")
	f.sh(commands[1])
	shown := p.in("text")
	wantOutput(r.t, strings.SplitN(commands[1], "\n", 2)[0], f.sh(strings.SplitN(commands[1], "\n", 2)[0]), shown[len(shown)-1])
	r.configurationPage(p)
}

// wantOutput holds that what a page shows is what a command prints, but for the time
// that it took.
func wantOutput(t *testing.T, command, printed, shown string) {
	t.Helper()
	duration := regexp.MustCompile(`[0-9.]+ (m|µ)?s\b`)
	printed, shown = duration.ReplaceAllString(printed, "TIME"), duration.ReplaceAllString(shown, "TIME")
	for line := range strings.Lines(shown) {
		if line = strings.TrimSpace(line); !strings.Contains(printed, line) {
			t.Errorf("%s: the page shows\n\t%s\nand the command prints\n%s", command, line, printed)
		}
	}
}

// policyPage has policies, which IAM would take.
func (r *reader) policyPage(p page) {
	for _, document := range p.in("json") {
		if _, err := policy.Parse(document, policy.Identity); err != nil {
			r.t.Errorf("%s: IAM refuses a policy: %v\n%s", p.path, err, document)
		}
	}
}

// contributing has commands of make alone, which TestTargetsExist looks at: running
// them would run these tests again.
func (r *reader) contributing(p page) {
	for _, script := range p.in("sh") {
		for line := range strings.Lines(script) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "make") {
				r.t.Errorf("%s: %q is no command of make, and nobody runs it", p.path, line)
			}
		}
	}
}
