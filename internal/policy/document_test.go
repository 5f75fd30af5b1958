package policy_test

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

func TestSameJSON(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"another order and white space": {`{"a": 1, "b": [2]}`, `{"b":[2],"a":1}`, true},
		"another order of a list":       {`[1, 2]`, `[2, 1]`, false},
		"the same that is no JSON":      {"a", "a", true},
		"one that is no JSON":           {"a", `"a"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := policy.SameJSON(tt.a, tt.b); got != tt.want {
				t.Errorf("%s and %s: same = %v, want %v", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

func TestSamePolicy(t *testing.T) {
	const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["a","b"]},"Action":"sts:AssumeRole","Condition":{"Bool":{"aws:SecureTransport":"true"}}}]}`
	tests := map[string]struct {
		other string
		want  bool
	}{
		"lists of one, another order, an id": {`{"Statement":{"Sid":"1","Action":["sts:AssumeRole"],"Effect":"Allow","Principal":{"Service":["b","a","b"]},` +
			`"Condition":{"Bool":{"aws:SecureTransport":true}}},"Version":"2012-10-17"}`, true},
		"another effect":        {strings.Replace(trust, "Allow", "Deny", 1), false},
		"a further value":       {strings.Replace(trust, `"b"`, `"b","c"`, 1), false},
		"one value less":        {strings.Replace(trust, `,"b"`, "", 1), false},
		"a further condition":   {strings.Replace(trust, `"Bool"`, `"IpAddress":{"aws:SourceIp":"10.0.0.0/8"},"Bool"`, 1), false},
		"no condition":          {strings.Replace(trust, `,"Condition":{"Bool":{"aws:SecureTransport":"true"}}`, "", 1), false},
		"another language":      {strings.Replace(trust, "2012", "2008", 1), false},
		"a text of its letters": {strings.Replace(trust, `["a","b"]`, `"[\"a\",\"b\"]"`, 1), false},
		"no JSON":               {"a", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := policy.SamePolicy(trust, tt.other); got != tt.want {
				t.Errorf("%s and %s: same = %v, want %v", trust, tt.other, got, tt.want)
			}
		})
	}
}
