package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func parse(t *testing.T, text string, kind Kind) Document {
	t.Helper()
	document, err := Parse(text, kind)
	if err != nil {
		t.Fatalf("parse %s: %v", text, err)
	}
	return document
}

func TestEvaluateStatements(t *testing.T) {
	const instance = "arn:aws:ec2:eu-west-1:1:instance/i-1"
	cases := map[string]struct {
		statements string
		request    Request
		want       Decision
	}{
		"allowed":                 {`{"Effect":"Allow","Action":"ec2:RunInstances","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, Allowed},
		"actions ignore case":     {`{"Effect":"Allow","Action":"EC2:runinstances","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, Allowed},
		"action wildcard":         {`{"Effect":"Allow","Action":["ec2:Describe*"],"Resource":"*"}`, Request{Action: "ec2:DescribeSubnets", Resource: "*"}, Allowed},
		"other action":            {`{"Effect":"Allow","Action":"ec2:Describe*","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: "*"}, NotAllowed},
		"everything but":          {`{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}`, Request{Action: "iam:GetRole", Resource: "*"}, NotAllowed},
		"not among the exclusion": {`{"Effect":"Allow","NotAction":"iam:*","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: "*"}, Allowed},
		"resource wildcard":       {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:*:1:instance/*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, Allowed},
		"resources keep case":     {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:*:1:Instance/*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, NotAllowed},
		"other resource":          {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:*:1:volume/*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, NotAllowed},
		"excluded resource":       {`{"Effect":"Allow","Action":"*","NotResource":"arn:aws:ec2:*:1:instance/*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, NotAllowed},
		"deny wins":               {`{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"ec2:*","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, Denied},
		"deny of something else":  {`{"Effect":"Deny","Action":"iam:*","Resource":"*"},{"Effect":"Allow","Action":"*","Resource":"*"}`, Request{Action: "ec2:RunInstances", Resource: instance}, Allowed},
		"variable in resource":    {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:${aws:RequestedRegion}:1:instance/*"}`, Request{Action: "ec2:X", Resource: instance, Context: ContextKeys{"aws:RequestedRegion": {"eu-west-1"}}}, Allowed},
		"variable without value":  {`{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:${aws:None}:1:instance/*"}`, Request{Action: "ec2:X", Resource: instance}, NotAllowed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			document := parse(t, `{"Version":"2012-10-17","Statement":[`+tc.statements+`]}`, Identity)
			if got := Evaluate([]Document{document}, tc.request); got != tc.want {
				t.Errorf("decision = %d, want %d", got, tc.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	keys := ContextKeys{
		"aws:RequestTag/team": {"infra"}, "aws:TagKeys": {"team", "env"}, "ec2:CreateAction": {"RunInstances"}, "aws:SecureTransport": {"true"},
		"aws:SourceArn": {"arn:aws:events:eu-west-1:1:rule/spot"}, "s3:max-keys": {"10"}, "aws:CurrentTime": {"2026-03-04T10:00:00Z"}, "aws:PrincipalTag/team": {"infra"},
		"aws:Empty": {},
	}
	cases := map[string]struct {
		condition string
		want      bool
	}{
		"equal":                             {`{"StringEquals":{"aws:RequestTag/team":"infra"}}`, true},
		"key in another case":               {`{"StringEquals":{"AWS:requesttag/team":"infra"}}`, true},
		"one of several":                    {`{"StringEquals":{"ec2:CreateAction":["CreateFleet","RunInstances"]}}`, true},
		"different":                         {`{"StringEquals":{"aws:RequestTag/team":"Infra"}}`, false},
		"ignoring case":                     {`{"StringEqualsIgnoreCase":{"aws:RequestTag/team":"Infra"}}`, true},
		"absent key":                        {`{"StringEquals":{"aws:RequestTag/none":"x"}}`, false},
		"absent key, if it exists":          {`{"StringEqualsIfExists":{"aws:RequestTag/none":"x"}}`, true},
		"not equal":                         {`{"StringNotEquals":{"aws:RequestTag/team":"other"}}`, true},
		"not equal to any":                  {`{"StringNotEquals":{"aws:RequestTag/team":["other","infra"]}}`, false},
		"not equal and absent":              {`{"StringNotEquals":{"aws:RequestTag/none":"x"}}`, true},
		"like":                              {`{"StringLike":{"aws:RequestTag/team":"in?r*"}}`, true},
		"not like":                          {`{"StringNotLike":{"aws:RequestTag/team":"in*"}}`, false},
		"any value":                         {`{"ForAnyValue:StringEquals":{"aws:TagKeys":["env"]}}`, true},
		"any value of an absent key":        {`{"ForAnyValue:StringEquals":{"aws:None":["env"]}}`, false},
		"all values":                        {`{"ForAllValues:StringEquals":{"aws:TagKeys":["env","team","x"]}}`, true},
		"not all values":                    {`{"ForAllValues:StringEquals":{"aws:TagKeys":["env"]}}`, false},
		"all values of an absent key":       {`{"ForAllValues:StringEquals":{"aws:None":["env"]}}`, true},
		"all values of an empty key":        {`{"ForAllValues:StringEquals":{"aws:Empty":["env"]}}`, true},
		"null and empty":                    {`{"Null":{"aws:Empty":"true"}}`, true},
		"null and absent":                   {`{"Null":{"aws:None":"true"}}`, true},
		"null and present":                  {`{"Null":{"aws:TagKeys":"true"}}`, false},
		"not null":                          {`{"Null":{"aws:TagKeys":false}}`, true},
		"bool":                              {`{"Bool":{"aws:SecureTransport":true}}`, true},
		"bool false":                        {`{"Bool":{"aws:SecureTransport":"false"}}`, false},
		"ARN like":                          {`{"ArnLike":{"aws:SourceArn":"arn:aws:events:*:1:rule/*"}}`, true},
		"ARN wildcards stay within a part":  {`{"ArnLike":{"aws:SourceArn":"arn:aws:events:*:rule/*"}}`, false},
		"less":                              {`{"NumericLessThan":{"s3:max-keys":"11"}}`, true},
		"not less":                          {`{"NumericLessThan":{"s3:max-keys":10}}`, false},
		"at least":                          {`{"NumericGreaterThanEquals":{"s3:max-keys":10}}`, true},
		"number that is none":               {`{"NumericEquals":{"s3:max-keys":"ten"}}`, false},
		"before":                            {`{"DateLessThan":{"aws:CurrentTime":"2026-03-05T00:00:00Z"}}`, true},
		"after":                             {`{"DateGreaterThan":{"aws:CurrentTime":"2026-03-05T00:00:00Z"}}`, false},
		"variable":                          {`{"StringEquals":{"aws:RequestTag/team":"${aws:PrincipalTag/team}"}}`, true},
		"all operators must hold":           {`{"StringEquals":{"aws:RequestTag/team":"infra"},"Bool":{"aws:SecureTransport":"false"}}`, false},
		"all keys of an operator must hold": {`{"StringEquals":{"aws:RequestTag/team":"infra","ec2:CreateAction":"CreateFleet"}}`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			document := parse(t, `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":`+tc.condition+`}}`, Identity)
			got := Evaluate([]Document{document}, Request{Action: "ec2:X", Resource: "*", Context: keys})
			if (got == Allowed) != tc.want {
				t.Errorf("decision = %d, want allowed: %t", got, tc.want)
			}
		})
	}
}

func TestPrincipals(t *testing.T) {
	provider := Principal{"Federated", "arn:aws:iam::1:oidc-provider/oidc"}
	role := Principal{"AWS", "arn:aws:iam::1:role/agent"}
	cases := map[string]struct {
		principal string
		who       Principal
		want      bool
	}{
		"federated":          {`{"Federated":"arn:aws:iam::1:oidc-provider/oidc"}`, provider, true},
		"another provider":   {`{"Federated":"arn:aws:iam::1:oidc-provider/other"}`, provider, false},
		"another kind":       {`{"AWS":"*"}`, provider, false},
		"the role":           {`{"AWS":["arn:aws:iam::1:role/agent"]}`, role, true},
		"its account":        {`{"AWS":"arn:aws:iam::1:root"}`, role, true},
		"its account, short": {`{"AWS":"1"}`, role, true},
		"another account":    {`{"AWS":"2"}`, role, false},
		"everybody":          {`"*"`, role, true},
		"a service":          {`{"Service":"ec2.amazonaws.com"}`, role, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			document := parse(t, `{"Statement":[{"Effect":"Allow","Principal":`+tc.principal+`,"Action":"sts:*"}]}`, Trust)
			got := Evaluate([]Document{document}, Request{Action: "sts:AssumeRole", Principal: tc.who})
			if (got == Allowed) != tc.want {
				t.Errorf("decision = %d, want allowed: %t", got, tc.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct {
		text string
		kind Kind
		want string // part of the error
	}{
		"no JSON":                 {`{`, Identity, "syntax errors"},
		"unknown element":         {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Colour":"red"}]}`, Identity, "Colour"},
		"unknown version":         {`{"Version":"2020","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`, Identity, "version"},
		"no statement":            {`{"Version":"2012-10-17"}`, Identity, "no statement"},
		"no action":               {`{"Statement":[{"Effect":"Allow","Resource":"*"}]}`, Identity, "actions"},
		"both kinds of action":    {`{"Statement":[{"Effect":"Allow","Action":"*","NotAction":"a:b","Resource":"*"}]}`, Identity, "actions"},
		"no resource":             {`{"Statement":[{"Effect":"Allow","Action":"*"}]}`, Identity, "resources"},
		"principal in identity":   {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Principal":"*"}]}`, Identity, "principal"},
		"no principal in trust":   {`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole"}]}`, Trust, "Principal"},
		"resource in trust":       {`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":"*","Resource":"*"}]}`, Trust, "Resource"},
		"odd principal":           {`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":"me"}]}`, Trust, "me"},
		"unknown operator":        {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringIs":{"a":"b"}}}]}`, Identity, "StringIs"},
		"unknown set operator":    {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForSome:StringLike":{"a":"b"}}}]}`, Identity, "ForSome"},
		"action without service":  {`{"Statement":[{"Effect":"Allow","Action":"RunInstances","Resource":"*"}]}`, Identity, "vendor"},
		"resource that is no ARN": {`{"Statement":[{"Effect":"Allow","Action":"*","Resource":"instance"}]}`, Identity, "ARN"},
		"the same statement id":   {`{"Statement":[{"Sid":"a","Effect":"Allow","Action":"*","Resource":"*"},{"Sid":"a","Effect":"Allow","Action":"*","Resource":"*"}]}`, Identity, "unique"},
		"value that is an object": {`{"Statement":[{"Effect":"Allow","Action":[{}],"Resource":"*"}]}`, Identity, "not a string"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.text, tc.kind)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want it to say %q", err, tc.want)
			}
		})
	}
}

// TestMatchAgainstSimplerTwin compares Match with a recursive definition.
func TestMatchAgainstSimplerTwin(t *testing.T) {
	var twin func(pattern, text string) bool
	twin = func(pattern, text string) bool {
		switch {
		case pattern == "":
			return text == ""
		case pattern[0] == '*':
			return twin(pattern[1:], text) || (text != "" && twin(pattern, text[1:]))
		case text == "":
			return false
		default:
			return (pattern[0] == '?' || pattern[0] == text[0]) && twin(pattern[1:], text[1:])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		if got, want := Match(pattern, text), twin(pattern, text); got != want {
			t.Fatalf("Match(%q, %q) = %t, want %t", pattern, text, got, want)
		}
	})
}
