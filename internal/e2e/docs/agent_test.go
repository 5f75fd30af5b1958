package docs

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// pagesOfTheAgent are run in a cluster that has a node for the agent and nothing else.
var pagesOfTheAgent = []way{
	{"docs/index.md", (*reader).indexPage},
	{"docs/guides/terraform-runner.md", nil}, // with the index
	{"docs/installation.md", (*reader).installationPage},
	{"docs/resources/agent.md", (*reader).resourcePage},
}

// TestPagesOfTheAgent runs the snippets of the pages that install the agent.
func TestPagesOfTheAgent(t *testing.T) {
	r := newReader(t)
	host, err := r.StartHost(t.Context(), "system-1")
	r.check(err)
	t.Cleanup(func() {
		if err := host.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range readPages(t) {
		if w, ok := wayOf(pagesOfTheAgent, p); ok && w.run != nil {
			t.Run(p.path, func(t *testing.T) {
				sub := r.in(t)
				sub.have(p)
				w.run(sub, p)
			})
		}
	}
}

func (r *reader) page(path string) page {
	r.t.Helper()
	for _, p := range readPages(r.t) {
		if p.path == path {
			return p
		}
	}
	r.t.Fatalf("there is no page %s", path)
	return page{}
}

// indexPage does what the index has newcomers do, with the permissions of the page
// about the Terraform runner and no others.
func (r *reader) indexPage(p page) {
	snippets := p.terraform()
	r.runner()
	f := r.beside(snippets[1])
	f.env = r.asRunner()
	f.apply()

	r.byAddress(snippets[2])
	f.destroy()
	left, err := r.Leftovers(r.t.Context())
	r.check(err)
	if len(left) > 0 {
		r.t.Errorf("destroy left behind: %v", left)
	}
}

// byAddress reaches the cluster with a provider block that names its address.
func (r *reader) byAddress(block string) {
	r.commandAWS()
	f := r.folder()
	f.write("provider.tf", required+block)
	f.moduleEKS()
	f.write("main.tf", "resource \"packhorse_provisioner\" \"test\" {\n  name = \"by-address\"\n}\n")
	f.apply()
	f.destroy()
}

// runner makes the identity of the page about the Terraform runner.
func (r *reader) runner() {
	r.t.Helper()
	p := r.page("docs/guides/terraform-runner.md")
	ctx, client := r.t.Context(), iam.NewFromConfig(r.admin())
	const trust = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "*"}}]}`
	made, err := client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("terraform"), AssumeRolePolicyDocument: aws.String(trust)})
	r.check(err)
	_, err = client.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: aws.String("terraform"), PolicyName: aws.String("packhorse"), PolicyDocument: aws.String(p.in("json")[0])})
	r.check(err)
	_, err = eks.NewFromConfig(r.admin()).CreateAccessEntry(ctx, &eks.CreateAccessEntryInput{
		ClusterName: aws.String(r.Sandbox.ClusterName), PrincipalArn: made.Role.Arn, KubernetesGroups: []string{"packhorse-terraform"},
	})
	r.check(err)
	r.check(r.Apply(ctx, []byte(p.in("yaml")[0])))
}

// asRunner returns the credentials of that identity, as variables.
func (r *reader) asRunner() []string {
	r.t.Helper()
	out, err := sts.NewFromConfig(r.admin()).AssumeRole(r.t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::" + accountID + ":role/terraform"), RoleSessionName: aws.String("test"),
	})
	r.check(err)
	return []string{
		"KUBECONFIG=", "AWS_ACCESS_KEY_ID=" + *out.Credentials.AccessKeyId, "AWS_SECRET_ACCESS_KEY=" + *out.Credentials.SecretAccessKey,
		"AWS_SESSION_TOKEN=" + *out.Credentials.SessionToken,
	}
}

// installationPage installs the agent from manifests, takes it over and removes it again
// in the order that the page gives.
func (r *reader) installationPage(p page) {
	f := r.beside(p.terraform()[0] + "\nresource \"packhorse_agent\" \"main\" {}\n")
	namespace, _, _ := strings.Cut(p.in("sh")[0], "helm install") // TestHelmAndManifests has Helm
	f.sh(namespace + "\npackhorse-agent manifests --cluster-name prod --region eu-west-1 | kubectl apply --server-side -f -")
	if said := f.sh("terraform init && terraform plan"); !strings.Contains(said, "1 to import") || !strings.Contains(said, "0 to destroy") {
		r.t.Errorf("the plan does not take the installation over:\n%s", said)
	}
	uninstall, _, _ := strings.Cut(p.in("sh")[1], "\n")
	f.sh(uninstall + "\npackhorse-agent manifests --cluster-name prod --region eu-west-1 | kubectl delete -f -")
}
