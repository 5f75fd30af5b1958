package policy_test

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		form    policy.Form
		fit     []string
		unfit   []string
		because string
	}{
		"role": {
			policy.Role,
			[]string{"node", "a.b_c+d=e,f@g-h", "arn:aws:iam::123456789012:role/node", "arn:aws-cn:iam::123456789012:role/a/b/node"},
			[]string{"*", "node*", "arn:aws:iam::123456789012:role/*", "arn:aws:iam::*:role/node", "arn:aws:iam::123456789012:role/a/?/b", "a/node", "", "arn:aws:iam::123456789012:user/node", "arn:aws:iam::123456789012:role/${aws:username}", "arn:aws:iam::123456789012:role/"},
			"must be the name of an IAM role",
		},
		"path": {policy.Path, []string{"/", "/nodes/", "/a/b/"}, []string{"nodes", "/nodes", "nodes/", "", "/no des/", "/*/"}, "begins and ends with a slash"},
		"policy": {
			policy.PolicyARN,
			[]string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/service-role/X", "arn:aws-us-gov:iam::123456789012:policy/p"},
			[]string{"AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:role/x", "arn:aws:iam::policy/x", "arn:aws:iam::aws:policy/*"}, "must be the ARN of a managed policy",
		},
		"queue": {
			policy.QueueARN,
			[]string{"arn:aws:sqs:eu-west-1:123456789012:prod", "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:prod.fifo"},
			[]string{"prod", "https://sqs.eu-west-1.amazonaws.com/123456789012/prod", "arn:aws:sqs:eu-west-1:123456789012:*", "arn:aws:sns:eu-west-1:123456789012:prod"}, "must be the ARN of an SQS queue",
		},
		"key": {
			policy.Key,
			[]string{"alias/packhorse", "1234abcd-12ab-34cd-56ef-1234567890ab", "mrk-1234abcd12ab34cd56ef1234567890ab", "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"},
			[]string{"packhorse", "alias/*", "arn:aws:s3:::b"}, "of a KMS key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, value := range c.fit {
				if err := c.form.Check(value); err != nil {
					t.Error(err)
				}
			}
			for _, value := range c.unfit {
				err := c.form.Check(value)
				if err == nil || !strings.Contains(err.Error(), c.because) {
					t.Errorf("%q: %v", value, err)
				}
				if err != nil && strings.Contains(value, "*") && !strings.Contains(err.Error(), "wildcards are refused") {
					t.Errorf("%q: the error does not speak of wildcards: %v", value, err)
				}
			}
		})
	}
}

// Whoever renders the policies, a wildcard never gets into them.
func TestPoliciesRefuseWildcards(t *testing.T) {
	for name, change := range map[string]func(*policy.Agent){
		"any role":    func(a *policy.Agent) { a.NodeRoles = []string{"*"} },
		"all roles":   func(a *policy.Agent) { a.NodeRoles = []string{"arn:aws:iam::123456789012:role/*"} },
		"a name":      func(a *policy.Agent) { a.NodeRoles = []string{"node"} },
		"all queues":  func(a *policy.Agent) { a.Queue = "arn:aws:sqs:eu-west-1:123456789012:*" },
		"any account": func(a *policy.Agent) { a.Account = "*" },
		"any region":  func(a *policy.Agent) { a.Region = "*" },
		"any cluster": func(a *policy.Agent) { a.Cluster = "*" },
	} {
		t.Run(name, func(t *testing.T) {
			a := agent()
			change(&a)
			if policies, err := a.Policies(); err == nil {
				t.Errorf("rendered %v", policies)
			}
		})
	}
	if text, err := policy.Queue("arn:aws:sqs:eu-west-1:123456789012:*"); err == nil {
		t.Errorf("rendered %s", text)
	}
	for name, trust := range map[string]policy.Trust{
		"nobody":       {Provider: "arn:aws:iam::123456789012:oidc-provider/i", Issuer: "https://i"},
		"anybody":      {Provider: "arn:aws:iam::123456789012:oidc-provider/i", Issuer: "https://i", Accounts: []policy.ServiceAccount{{Namespace: "*", Name: "a"}}},
		"any provider": {Provider: "*", Issuer: "https://i", Accounts: []policy.ServiceAccount{{Namespace: "a", Name: "b"}}},
	} {
		if text, err := trust.JSON(); err == nil {
			t.Errorf("%s: rendered %s", name, text)
		}
	}
}

func TestCheckDocument(t *testing.T) {
	for name, c := range map[string]struct{ document, want string }{
		"a list":                  {`{"Version":"2012-10-17","Statement":[{"Sid":"A1","Effect":"Allow","Action":["s3:Get*","logs:*"],"Resource":"*"}]}`, ""},
		"one statement":           {`{"Statement":{"Effect":"Deny","NotAction":"*","NotResource":["arn:aws:s3:::b/${aws:username}"]}}`, ""},
		"conditions":              {`{"Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"*","Condition":{"Bool":{"aws:SecureTransport":true},"StringEquals":{"a:b":["c"]}}}]}`, ""},
		"no JSON":                 {`{`, "is not an IAM policy"},
		"two documents":           {`{"Statement":[]}{}`, "there is more text after its end"},
		"nothing":                 {`{}`, "has no Statement"},
		"another version":         {`{"Version":"2012-10-18","Statement":[{}]}`, `has the Version "2012-10-18"`},
		"a misspelt key":          {`{"Statements":[]}`, `unknown field "Statements"`},
		"a misspelt key within":   {`{"Statement":[{"Effect":"Allow","Actions":"*","Resource":"*"}]}`, `unknown field "Actions"`},
		"a principal":             {`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}`, `unknown field "Principal"`},
		"an effect in lower case": {`{"Statement":[{"Effect":"allow","Action":"*","Resource":"*"}]}`, `statement 1: its Effect "allow" must be Allow or Deny`},
		"no action":               {`{"Statement":[{"Effect":"Allow","Resource":"*"}]}`, "either Action or NotAction"},
		"both actions":            {`{"Statement":[{"Effect":"Allow","Action":"*","NotAction":"*","Resource":"*"}]}`, "either Action or NotAction"},
		"no resource":             {`{"Statement":[{"Effect":"Allow","Action":"*"}]}`, "either Resource or NotResource"},
		"an action of no service": {`{"Statement":[{"Effect":"Allow","Action":"GetObject","Resource":"*"}]}`, `Action "GetObject" must be SERVICE:ACTION`},
		"a resource's name":       {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"bucket"}]}`, `Resource "bucket" must be an ARN`},
		"a condition's form":      {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Bool":true}}]}`, "is not an IAM policy"},
		"a sid":                   {`{"Statement":[{"Sid":"a b","Effect":"Allow","Action":"*","Resource":"*"}]}`, `Sid "a b"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := policy.CheckDocument(c.document)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
