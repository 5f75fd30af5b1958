package docs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// untilServed waits until the API server serves the definitions.
func (r *reader) untilServed() {
	r.t.Helper()
	r.check(wait.PollUntilContextTimeout(r.t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		_, provisioners := r.Dynamic.Resource(api.ProvisionerGVR).List(ctx, metav1.ListOptions{})
		_, profiles := r.Dynamic.Resource(api.NodeTemplateGVR).List(ctx, metav1.ListOptions{})
		return provisioners == nil && profiles == nil, nil
	}))
}

// accountID is the account of every sandbox.
const accountID = "123456789012"

// have makes what a page counts on: a ServiceAccount to annotate, and the role of the
// machines, unless the page declares it itself.
func (r *reader) have(p page) {
	r.t.Helper()
	if strings.Contains(p.text, "annotate_service_account = true") {
		r.check(r.Apply(r.t.Context(), []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: reports}\n"+
			"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: writer, namespace: reports}\n")))
	}
	const name = "prod-node"
	if !strings.Contains(p.text, name) || strings.Contains(p.text, `resource "packhorse_node_role"`) {
		return
	}
	r.nodeRole(name, name)
	r.t.Cleanup(func() {
		ctx, client := context.WithoutCancel(r.t.Context()), iam.NewFromConfig(r.admin())
		_, err := client.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: aws.String(name), RoleName: aws.String(name)})
		r.check(err)
		_, err = client.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: aws.String(name)})
		r.check(err)
		for _, arn := range policy.NodePolicies("aws", true) {
			_, err = client.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(arn)})
			r.check(err)
		}
		_, err = client.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: aws.String(name)})
		r.check(err)
	})
}

// nodeRole makes a role for machines and its instance profile, as other tools do.
func (r *reader) nodeRole(name, profile string) {
	r.t.Helper()
	ctx, client := r.t.Context(), iam.NewFromConfig(r.admin())
	trust, err := policy.NodeTrust("aws")
	r.check(err)
	_, err = client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String(name), AssumeRolePolicyDocument: aws.String(trust)})
	r.check(err)
	for _, arn := range policy.NodePolicies("aws", true) {
		_, err = client.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: aws.String(name), PolicyArn: aws.String(arn)})
		r.check(err)
	}
	_, err = client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String(profile)})
	r.check(err)
	_, err = client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String(profile), RoleName: aws.String(name)})
	r.check(err)
}

// moduleEKS writes a stand-in for terraform-aws-modules/eks/aws with the outputs that
// the pages use, for this cluster, and one for the module of its network.
func (f *folder) moduleEKS() {
	f.t.Helper()
	f.write("eks.tf", "module \"eks\" {\n  source = \"./eks\"\n}\n")
	f.write("eks/main.tf", fmt.Sprintf(`
output "cluster_name" { value = "prod" }
output "cluster_endpoint" { value = %q }
output "cluster_certificate_authority_data" { value = base64encode(%q) }
`, f.Sandbox.Host, f.Sandbox.CA))
	f.write("vpc.tf", "module \"vpc\" {\n  source = \"./vpc\"\n}\n")
	f.write("vpc/main.tf", "output \"vpc_id\" { value = \"vpc-1\" }\n")
}

// commandAWS gives the reader `aws eks get-token`, as kubeconfigs call it.
func (r *reader) commandAWS() {
	r.t.Helper()
	token, err := eksauth.NewTokens(sts.NewFromConfig(r.admin()), r.Sandbox.ClusterName).Token(r.t.Context())
	r.check(err)
	r.script("aws", `test "$*" = "eks get-token --cluster-name prod" || { echo "aws $*: not what the page has it called with" >&2; exit 1; }
echo '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "spec": {}, "status": {"token": "`+token+`"}}'`)
}

// modulePage has what the module has made, and follows the page in both of its ways.
func (r *reader) modulePage(p page) {
	snippets := p.terraform()
	const role, profile = "Karpenter-prod-20260301120000000000000001", "Karpenter-prod-20260301120000000000000002"
	r.nodeRole(role, profile)
	_, err := sqs.NewFromConfig(r.admin()).CreateQueue(r.t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Karpenter-prod")})
	r.check(err)

	beside := r.beside(snippets[0])
	beside.moduleEKS()
	beside.write("karpenter.tf", "module \"karpenter\" {\n  source = \"./karpenter\"\n}\n")
	beside.write("karpenter/main.tf", fmt.Sprintf(`
output "node_iam_role_arn" { value = "arn:aws:iam::%[1]s:role/%[2]s" }
output "queue_arn" { value = "arn:aws:sqs:eu-west-1:%[1]s:Karpenter-prod" }
output "queue_name" { value = "Karpenter-prod" }
output "instance_profile_name" { value = %[3]q }
`, accountID, role, profile))
	beside.sh("terraform init && terraform plan")

	instead := r.beside(snippets[1])
	if said := instead.sh("terraform init && terraform plan"); !strings.Contains(said, "2 to import, 0 to add,") || !strings.Contains(said, "0 to destroy") {
		r.t.Errorf("the plan is not to take over both objects and destroy nothing:\n%s", said)
	}
	instead.apply()
	instead.destroy()
}
