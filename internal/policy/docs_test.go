package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	iampolicy "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// documented returns the policies that a page prints, in order.
func documented(t *testing.T, page string) (out []iampolicy.Document) {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		document, err := iampolicy.Parse(found[1], iampolicy.Identity)
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		out = append(out, document)
	}
	return out
}

// What users copy does not give more than its page says.
func TestDocumentedPolicies(t *testing.T) {
	const (
		role    = "arn:aws:iam::123456789012:role/prod-agent"
		service = "iam:PassedToService"
		limit   = "iam:PermissionsBoundary"
		limited = "arn:aws:iam::123456789012:policy/packhorse-boundary"
		cluster = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
		volumes = "arn:aws:kms:eu-west-1:111122223333:key/22222222-aaaa-bbbb-cccc-333333333333"
		through = "kms:ViaService"
	)
	guide, keys := documented(t, "guides/terraform-runner.md"), documented(t, "iam.md")[:1]
	runner, bounded := guide[:1], guide[:2]
	for name, c := range map[string]struct {
		documents        []iampolicy.Document
		action, resource string
		keys             iampolicy.ContextKeys
		want             iampolicy.Decision
	}{
		"the names of images":               {runner, "ssm:GetParameters", "arn:aws:ssm:eu-west-1::parameter/aws/service/eks/optimized-ami/1.35/image_id", nil, iampolicy.Allowed},
		"a password":                        {runner, "ssm:GetParameters", "arn:aws:ssm:eu-west-1:123456789012:parameter/db/password", nil, iampolicy.NotAllowed},
		"a role for machines":               {runner, "iam:PassRole", role, iampolicy.ContextKeys{service: {"ec2.amazonaws.com"}}, iampolicy.Allowed},
		"a role for functions":              {runner, "iam:PassRole", role, iampolicy.ContextKeys{service: {"lambda.amazonaws.com"}}, iampolicy.NotAllowed},
		"the entry of a node":               {runner, "eks:CreateAccessEntry", cluster, iampolicy.ContextKeys{"eks:accessEntryType": {"EC2_LINUX"}}, iampolicy.Allowed},
		"the entry of a person":             {runner, "eks:CreateAccessEntry", cluster, iampolicy.ContextKeys{"eks:accessEntryType": {"STANDARD"}}, iampolicy.NotAllowed},
		"an entry of the default type":      {runner, "eks:CreateAccessEntry", cluster, nil, iampolicy.NotAllowed},
		"a role without its boundary":       {runner, "iam:DeleteRolePermissionsBoundary", role, iampolicy.ContextKeys{limit: {limited}}, iampolicy.NotAllowed},
		"a role":                            {runner, "iam:CreateRole", role, nil, iampolicy.Allowed},
		"a role that has to have limits":    {bounded, "iam:CreateRole", role, nil, iampolicy.Denied},
		"a role with limits":                {bounded, "iam:CreateRole", role, iampolicy.ContextKeys{limit: {limited}}, iampolicy.Allowed},
		"a policy for a role with others":   {bounded, "iam:PutRolePolicy", role, iampolicy.ContextKeys{limit: {limited + "s"}}, iampolicy.Denied},
		"a role with other limits":          {bounded, "iam:PutRolePermissionsBoundary", role, iampolicy.ContextKeys{limit: {limited + "s"}}, iampolicy.Denied},
		"a machine with encrypted volumes":  {keys, "kms:Decrypt", volumes, iampolicy.ContextKeys{through: {"ec2.eu-west-1.amazonaws.com"}}, iampolicy.Allowed},
		"what the volumes have":             {keys, "kms:Decrypt", volumes, nil, iampolicy.NotAllowed},
		"the key for volumes":               {keys, "kms:CreateGrant", volumes, iampolicy.ContextKeys{through: {"ec2.eu-west-1.amazonaws.com"}, "kms:GrantIsForAWSResource": {"true"}}, iampolicy.Allowed},
		"the key for somebody else":         {keys, "kms:CreateGrant", volumes, nil, iampolicy.NotAllowed},
		"the key through EC2, for somebody": {keys, "kms:CreateGrant", volumes, iampolicy.ContextKeys{through: {"ec2.eu-west-1.amazonaws.com"}, "kms:GrantIsForAWSResource": {"false"}}, iampolicy.NotAllowed},
	} {
		if got := iampolicy.Evaluate(c.documents, iampolicy.Request{Action: c.action, Resource: c.resource, Context: c.keys}); got != c.want {
			t.Errorf("%s: the decision on %s is %d, want %d", name, c.action, got, c.want)
		}
	}
}

// docs/iam.md explains each statement with exactly its actions, in order.
func TestStatementsAreExplained(t *testing.T) {
	raw, err := os.ReadFile("../../docs/iam.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| `packhorse-") {
			continue
		}
		if len(cells) != 4 || len(strings.Trim(cells[3], " |")) < 10 {
			t.Errorf("no explanation in %q", line)
			continue
		}
		listed = append(listed, strings.TrimPrefix(strings.Join(cells[:3], " "), "| "))
	}
	policies, err := agent().Policies()
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range policy.Names {
		var document struct{ Statement []rule }
		if err := json.Unmarshal([]byte(policies[name]), &document); err != nil {
			t.Fatal(err)
		}
		for _, s := range document.Statement {
			want = append(want, fmt.Sprintf("`%s` `%s` `%s`", name, s.Sid, strings.Join(actions(s.Action), "`, `")))
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("docs/iam.md is out of date: -want +got\n%s", diff)
	}
}

// actions of a statement: one or several, sorted.
func actions(value any) []string {
	var out []string
	switch v := value.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, a := range v {
			out = append(out, fmt.Sprint(a))
		}
	}
	slices.Sort(out)
	return out
}
