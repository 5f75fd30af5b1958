package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	iampolicy "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

const testAccount = "123456789012"

// agentPolicies are those that the product generates for the agent of "prod", by name.
func agentPolicies(t *testing.T, change ...func(*policy.Agent)) map[string]string {
	t.Helper()
	agent := policy.Agent{
		Partition: "aws", Region: testRegion, Account: testAccount, Cluster: "prod",
		NodeRoles: []string{"arn:aws:iam::" + testAccount + ":role/packhorse-node"},
		Queue:     "arn:aws:sqs:" + testRegion + ":" + testAccount + ":prod-interruptions",
		NodePools: true,
	}
	for _, c := range change {
		c(&agent)
	}
	policies, err := agent.Policies()
	if err != nil {
		t.Fatal(err)
	}
	return policies
}

// asAgent is the adapter with a role that has the agent's policies and no more.
func (f *fixture) asAgent(t *testing.T) *fixture {
	t.Helper()
	return f.asRole(t, agentPolicies(t), func(o *Options) { o.NoPricing = false })
}

// restricted is the adapter with a role that has one statement.
func (f *fixture) restricted(t *testing.T, statement string) *fixture {
	t.Helper()
	return f.asRole(t, map[string]string{"only": `{"Version":"2012-10-17","Statement":[` + statement + `]}`})
}

// asRole is the adapter with a new role that has the policies, by name.
func (f *fixture) asRole(t *testing.T, documents map[string]string, change ...func(*Options)) *fixture {
	t.Helper()
	agent := *f
	agent.config = f.account.As(t, "agent", documents)
	agent.Cloud = agent.newCloud(t, change...)
	return &agent
}

// The least-privilege policies allow everything that the adapter does, and nothing
// that it does not do: each action of each statement is made use of.
func TestTheAgentsPoliciesSufficeAndAreNeeded(t *testing.T) {
	f := start(t).asAgent(t)
	f.market(t, nil)
	eventually(t, "a look at the price list", func() bool { return f.calls("GetProducts", "") > 0 })
	for _, c := range []string{api.CapacityOnDemand, api.CapacitySpot} {
		candidate := onDemand("m5.large", "a")
		candidate.CapacityType = c
		d := f.launch(t, order("launch-"+c, 1, candidate))
		if len(d.Instances) != 1 {
			t.Fatalf("%s: delivery = %+v", c, d)
		}
	}
	list, err := f.Instances(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatalf("instances = %v, %v", list, err)
	}
	f.loseTags(t, list[0].ID, api.TagClusterPrefix+"prod", api.LabelProvisioner, api.TagLaunchID)
	f.loseTags(t, list[1].ID, api.TagManagedBy)
	for _, i := range f.found(t, ids(list)...) {
		i.Provisioner, i.LaunchID = list[0].Provisioner, "launch"
		must(t, f.Retag(t.Context(), i))
	}
	if _, err := f.Terminate(t.Context(), ids(list)); err != nil {
		t.Error(err)
	}
	id := f.reserve(t, "m5.large", "a", 1)
	reserving := order("reserved", 1, inReservation(id, "m5.large", "a"))
	reserving.Node.Profile = classWith(byID(id))
	if d := f.launch(t, reserving); len(d.Instances) != 1 || len(reserved(f.market(t, reserving.Node.Profile))) != 1 {
		t.Fatalf("reserved: delivery = %+v", d)
	}
	f.takeOver(t, f.karpenters(t, 1))
	if m := f.market(t, classOf(func(c *api.ClassTerms) { c.Role = "packhorse-node" })); m.Blocked != "" {
		t.Errorf("the role of a class: %s", m.Blocked)
	}
	q := f.openQueue(t)
	must(t, f.account.Enqueue("prod-interruptions", "{}", 1))
	must(t, q.Acknowledge(t.Context(), receive(t, q)[0].Handle))
	f.clock.Step(2 * time.Hour)
	if err := f.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if got := len(f.templates(t)); got != 0 {
		t.Errorf("launch templates after the sweep = %d", got)
	}
	for _, c := range f.account.Calls() {
		if c.ErrorCode != "" {
			t.Errorf("%s %s: %s", c.Service, c.Action, c.ErrorCode)
		}
	}
	used := f.account.Grants()
	for _, g := range allowed(t, agentPolicies(t)) {
		if !slices.Contains(used, g) {
			t.Errorf("statement %s allows %s, which nothing needs", g.Statement, g.Action)
		}
	}
}

// What the role may not read is not asked for by every look of every turn, and soon found once it may.
func TestDeniedReadsAreNotRepeatedAtOnce(t *testing.T) {
	for action, others := range map[string]string{
		"DescribeSubnets":       `"ec2:DescribeI*","ec2:DescribeA*","ec2:DescribeSe*","ec2:DescribeSp*","ssm:*","eks:*"`,
		"DescribeInstanceTypes": `"ec2:DescribeSu*","ec2:DescribeIm*","ec2:DescribeInstanceTypeOfferings","ec2:DescribeA*","ec2:DescribeSe*","ec2:DescribeSp*","ssm:*","eks:*"`,
	} {
		t.Run(action, func(t *testing.T) {
			f := start(t).restricted(t, `{"Effect":"Allow","Action":[`+others+`],"Resource":"*"}`)
			for range 50 {
				if _, err := f.Market(t.Context(), provisioner("default"), nil); err == nil || !strings.Contains(err.Error(), "UnauthorizedOperation") {
					t.Fatalf("error %v", err)
				}
			}
			if n := f.calls(action, "UnauthorizedOperation"); n != 1 {
				t.Errorf("%d calls for 50 looks at once", n)
			}
			role, all := "agent", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`
			if _, err := iam.NewFromConfig(f.account.Config).PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{RoleName: &role, PolicyName: &role, PolicyDocument: &all}); err != nil {
				t.Fatal(err)
			}
			f.clock.Step(time.Second)
			if m := f.market(t, nil); len(m.Types) == 0 {
				t.Errorf("once it is allowed: %+v", m)
			}
		})
	}
}

// allowed lists what policies allow the role "agent".
func allowed(t *testing.T, documents map[string]string) (out []cloud.Grant) {
	t.Helper()
	for name, text := range documents {
		document, err := iampolicy.Parse(text, iampolicy.Identity)
		if err != nil {
			t.Fatalf("policy %s: %v", name, err)
		}
		for _, s := range document.Statements {
			for _, action := range s.Action {
				out = append(out, cloud.Grant{Role: "agent", Statement: s.Sid, Action: action})
			}
		}
	}
	return out
}
