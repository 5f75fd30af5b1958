package policy_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

func agent() policy.Agent {
	return policy.Agent{
		Partition: "aws",
		Region:    "eu-west-1",
		Account:   "123456789012",
		Cluster:   "prod",
		NodeRoles: []string{"arn:aws:iam::123456789012:role/node"},
		Queue:     "arn:aws:sqs:eu-west-1:123456789012:prod",
		NodePools: true,
	}
}

type rule struct {
	Sid       string
	Action    any
	Resource  any
	Condition map[string]map[string]any
}

func rules(t *testing.T, a policy.Agent) []rule {
	t.Helper()
	policies, err := a.Policies()
	if err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		var doc struct{ Statement []rule }
		if err := json.Unmarshal([]byte(policies[name]), &doc); err != nil {
			t.Fatalf("policy %s: %v", name, err)
		}
		out = append(out, doc.Statement...)
	}
	return out
}

func list(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, s := range v.([]any) {
		out = append(out, s.(string))
	}
	return out
}

// readOnly are the actions that change nothing, those that only use what is
// shared, which are images and networks, and requests for spot machines.
func readOnly(r rule, action string) bool {
	_, verb, _ := strings.Cut(action, ":")
	return strings.HasPrefix(verb, "Describe") || strings.HasPrefix(verb, "Get") || strings.HasPrefix(verb, "List") || r.Sid == "UseImagesAndNetworks" || r.Sid == "RequestSpot"
}

func TestAgentChangesOnlyWhatHasItsTags(t *testing.T) {
	for _, r := range rules(t, agent()) {
		for _, action := range list(r.Action) {
			if readOnly(r, action) || strings.HasPrefix(action, "sqs:") || action == "iam:PassRole" {
				continue
			}
			equals := r.Condition["StringEquals"]
			request, resource := equals["aws:RequestTag/kubernetes.io/cluster/prod"], equals["aws:ResourceTag/kubernetes.io/cluster/prod"]
			if request != "owned" && resource != "owned" {
				t.Errorf("%s allows %s without the cluster's tag", r.Sid, action)
			}
		}
	}
}

// Subnets and security groups of a VPC that another account shares belong to that account.
func TestAgentUsesWhatALaunchRefersTo(t *testing.T) {
	at := slices.IndexFunc(rules(t, agent()), func(r rule) bool { return r.Sid == "UseImagesAndNetworks" })
	patterns := list(rules(t, agent())[at].Resource)
	for resource, allowed := range map[string]bool{
		"arn:aws:ec2:eu-west-1::image/ami-1":                           true,
		"arn:aws:ec2:eu-west-1:210987654321:capacity-reservation/cr-1": true,
		"arn:aws:ec2:eu-west-1:210987654321:subnet/subnet-1":           true,
		"arn:aws:ec2:eu-west-1:210987654321:security-group/sg-1":       true,
		"arn:aws:ec2:eu-west-1:123456789012:key-pair/admin":            true,
		"arn:aws:ec2:eu-west-1:123456789012:placement-group/near":      true,
		"arn:aws:ec2:us-east-1:210987654321:subnet/subnet-1":           false,
		"arn:aws:ec2:eu-west-1:123456789012:launch-template/lt-1":      false,
	} {
		matches := func(pattern string) bool { ok, err := path.Match(pattern, resource); return ok && err == nil }
		if got := slices.ContainsFunc(patterns, matches); got != allowed {
			t.Errorf("%s: allowed is %v, want %v", resource, got, allowed)
		}
	}
}

// A name does not tell the path of a role.
func TestRoleNames(t *testing.T) {
	const own, nested, other = "arn:aws:iam::123456789012:role/node", "arn:aws:iam::123456789012:role/team/node", "arn:aws:iam::210987654321:role/node"
	got := policy.RoleNames([]string{own, nested, other}, "arn:aws:iam::123456789012")
	if want := []string{"node", nested, other}; !slices.Equal(got, want) {
		t.Errorf("RoleNames() = %q, want %q", got, want)
	}
}

func TestAgentPassesOnlyTheNodeRoles(t *testing.T) {
	i := slices.IndexFunc(rules(t, agent()), func(r rule) bool { return r.Sid == "GiveNodesTheirRole" })
	got := rules(t, agent())[i]
	want := rule{
		Sid:       "GiveNodesTheirRole",
		Action:    "iam:PassRole",
		Resource:  "arn:aws:iam::123456789012:role/node",
		Condition: map[string]map[string]any{"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
}

func TestAgentTerminatesOnlyMachinesOfAProvisioner(t *testing.T) {
	for _, r := range rules(t, agent()) {
		if slices.Contains(list(r.Action), "ec2:TerminateInstances") {
			want := map[string]map[string]any{
				"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/prod": "owned", "aws:ResourceTag/karpenter.sh/managed-by": "prod"},
				"StringLike":   {"aws:ResourceTag/karpenter.sh/provisioner-name": "*"},
			}
			if diff := cmp.Diff(want, r.Condition); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Error("no statement allows ec2:TerminateInstances")
}

// An agent that serves no NodePools has no business with the machines of Karpenter.
func TestTakingOverIsOptional(t *testing.T) {
	a := agent()
	a.NodePools = false
	for _, r := range rules(t, a) {
		if r.Sid == "TakeOverMachines" || slices.Contains(list(r.Action), "ec2:DeleteTags") {
			t.Errorf("%s is allowed", r.Sid)
		}
	}
	for _, served := range []bool{true, false} {
		a.NodePools = served
		policies, err := a.Policies()
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.ParseAgent(policies).NodePools; got != served {
			t.Errorf("parsed back: NodePools is %t, want %t", got, served)
		}
	}
}

func TestQueueIsOptional(t *testing.T) {
	a := agent()
	a.Queue = ""
	for _, r := range rules(t, a) {
		for _, action := range list(r.Action) {
			if strings.HasPrefix(action, "sqs:") {
				t.Errorf("%s allows %s without a queue", r.Sid, action)
			}
		}
	}
}

func TestSizesStayWithinIAMLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := agent()
		a.Partition = rapid.SampledFrom([]string{"aws", "aws-cn", "aws-us-gov"}).Draw(t, "partition")
		a.Cluster = strings.Repeat("c", rapid.IntRange(1, 100).Draw(t, "length of the cluster's name"))
		a.NodePools = rapid.Bool().Draw(t, "NodePools are served")
		a.NodeRoles = nil
		for i := range rapid.IntRange(0, 60).Draw(t, "node roles") {
			a.NodeRoles = append(a.NodeRoles, fmt.Sprintf("arn:aws:iam::123456789012:role/%s-%d", strings.Repeat("r", 40), i))
		}
		policies, err := a.Policies()
		if err != nil {
			if len(a.NodeRoles) < 10 && !a.NodePools || len(a.NodeRoles) < 5 {
				t.Fatalf("refused an ordinary cluster: %v", err)
			}
			return
		}
		total := 0
		for name, text := range policies {
			if size := policy.Size(text); size > policy.MaxManaged {
				t.Fatalf("%s has %d characters", name, size)
			}
			total += policy.Size(text)
		}
		if total > policy.MaxInline {
			t.Fatalf("all together have %d characters", total)
		}
	})
}

func TestTrust(t *testing.T) {
	trust := policy.Trust{
		Provider: "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC",
		Issuer:   "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC",
		Accounts: []policy.ServiceAccount{{Namespace: "packhorse", Name: "agent"}, {Namespace: "b", Name: "c"}},
	}
	got, err := trust.JSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
		`"Principal":{"Federated":"arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"},` +
		`"Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{` +
		`"oidc.eks.eu-west-1.amazonaws.com/id/ABC:aud":"sts.amazonaws.com",` +
		`"oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub":["system:serviceaccount:b:c","system:serviceaccount:packhorse:agent"]}}}]}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trust policy (-want +got):\n%s", diff)
	}
	back, err := policy.ParseTrust(got)
	if err != nil {
		t.Fatal(err)
	}
	byName := cmpopts.SortSlices(func(a, b policy.ServiceAccount) bool { return a.Name < b.Name })
	if diff := cmp.Diff(trust, back, byName); diff != "" {
		t.Errorf("parsed back (-want +got):\n%s", diff)
	}
	if arn := policy.ProviderARN("aws", "123456789012", trust.Issuer); arn != trust.Provider {
		t.Errorf("provider = %s, want %s", arn, trust.Provider)
	}
}

// Conditions on namespaces and names are met one by one: in a single statement
// they would let b/agent and packhorse/c assume the role too.
func TestTrustByPodIdentity(t *testing.T) {
	trust := policy.Trust{
		Cluster:  policy.ClusterARN("aws", "eu-west-1", "123456789012", "prod"),
		Accounts: []policy.ServiceAccount{{Namespace: "packhorse", Name: "agent"}, {Namespace: "b", Name: "c"}, {Namespace: "b", Name: "a"}},
	}
	got, err := trust.JSON()
	if err != nil {
		t.Fatal(err)
	}
	of := func(namespace, names string) string {
		return `{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"],` +
			`"Condition":{"StringEquals":{"aws:RequestTag/eks-cluster-arn":"arn:aws:eks:eu-west-1:123456789012:cluster/prod",` +
			`"aws:RequestTag/kubernetes-namespace":"` + namespace + `","aws:RequestTag/kubernetes-service-account":` + names + `}}}`
	}
	if diff := cmp.Diff(`{"Version":"2012-10-17","Statement":[`+of("b", `["a","c"]`)+","+of("packhorse", `"agent"`)+`]}`, got); diff != "" {
		t.Errorf("trust policy (-want +got):\n%s", diff)
	}
}

func TestParseTrustReadsBothWays(t *testing.T) {
	issuer := "https://oidc.eks.eu-west-1.amazonaws.com/id/ABC"
	both := policy.Trust{
		Provider: policy.ProviderARN("aws", "123456789012", issuer), Issuer: issuer,
		Cluster:  policy.ClusterARN("aws", "eu-west-1", "123456789012", "prod"),
		Accounts: []policy.ServiceAccount{{Namespace: "b", Name: "c"}, {Namespace: "packhorse", Name: "agent"}},
	}
	podIdentity := policy.Trust{Cluster: both.Cluster, Accounts: both.Accounts}
	for name, trust := range map[string]policy.Trust{"both": both, "pod identity": podIdentity} {
		written, err := trust.JSON()
		if err != nil {
			t.Fatal(err)
		}
		back, err := policy.ParseTrust(written)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(trust, back); diff != "" {
			t.Errorf("%s, parsed back (-want +got):\n%s", name, diff)
		}
	}
	written, err := both.JSON()
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(written, `"aws:RequestTag/kubernetes-service-account":"c"`, `"aws:RequestTag/kubernetes-service-account":"d"`, 1)
	if _, err := policy.ParseTrust(changed); err == nil || !strings.Contains(err.Error(), "different ServiceAccounts") {
		t.Errorf("error = %v", err)
	}
}

func TestParseTrustRefusesWhatItDidNotWrite(t *testing.T) {
	web := func(effect, condition string) string {
		return `{"Statement":[{"Effect":` + effect + `,"Principal":{"Federated":"x"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":{` + condition + `}}]}`
	}
	pods, err := policy.Trust{Cluster: policy.ClusterARN("aws", "eu-west-1", "123456789012", "prod"), Accounts: []policy.ServiceAccount{{Namespace: "a", Name: "b"}}}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ policy, want string }{
		"a service":             {`{"Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`, "statement 1 is neither"},
		"any subject":           {`{"Statement":[{"Effect":"Allow","Principal":{"Federated":"x"},"Action":"sts:AssumeRoleWithWebIdentity"}]}`, "no condition on the subject"},
		"no workload":           {`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"i:sub":"repo:x"}}}]}`, "is not a ServiceAccount"},
		"not even a trust":      {`[`, "read trust policy"},
		"nobody":                {`{"Statement":[]}`, "no statement"},
		"any pod":               {`{"Statement":[{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}]}`, "without conditions"},
		"a denial":              {web(`"Deny"`, `"StringEquals":{"i:sub":"system:serviceaccount:a:b"}`), `statement 1 has the effect "Deny"`},
		"another audience":      {web(`"Allow"`, `"StringEquals":{"i:sub":"system:serviceaccount:a:b","i:aud":"x"}`), "the audience is x instead of sts.amazonaws.com"},
		"another operator":      {web(`"Allow"`, `"StringEquals":{"i:sub":"system:serviceaccount:a:b"},"StringLike":{"i:aud":"*"}`), "a further condition, StringLike of i:aud"},
		"a further condition":   {web(`"Allow"`, `"StringEquals":{"i:sub":"system:serviceaccount:a:b","aws:PrincipalTag/team":"a"}`), "a further condition, StringEquals of aws:PrincipalTag/team"},
		"two issuers":           {web(`"Allow"`, `"StringEquals":{"i:sub":"system:serviceaccount:a:b","j:sub":"system:serviceaccount:a:b"}`), "a further condition, StringEquals of "},
		"pods of some machines": {strings.Replace(pods, `"StringEquals"`, `"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"StringEquals"`, 1), "a further condition, IpAddress of aws:SourceIp"},
		"somebody else too": {`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity","Condition":{"StringEquals":{"i:sub":"system:serviceaccount:a:b"}}},` +
			`{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole"}]}`, "statement 2 is neither"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := policy.ParseTrust(tt.policy); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}
