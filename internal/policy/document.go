// Package policy writes the IAM policy documents of Packhorse and the patterns of the
// EventBridge rules that feed its interruption queue. It is pure: names
// in, JSON out.
package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// IAM's limits on the size of policies, in characters without white space.
const (
	// MaxManaged bounds one managed policy.
	MaxManaged = 6144
	// MaxInline bounds the sum of a role's inline policies.
	MaxInline = 10240
	// MaxTrust bounds a role's trust policy.
	MaxTrust = 2048
)

// document is an IAM policy.
type document struct {
	Version   string      `json:"Version"`
	Statement []statement `json:"Statement"`
}

// statement is one rule of a policy.
type statement struct {
	Sid       string               `json:"Sid,omitempty"`
	Effect    string               `json:"Effect"`
	Principal principals           `json:"Principal,omitempty"`
	Action    values               `json:"Action"`
	Resource  values               `json:"Resource,omitempty"`
	Condition map[string]condition `json:"Condition,omitempty"`
}

// condition maps a condition key to the values that satisfy it.
type condition map[string]values

// values is a list that JSON writes as a single string if it has one element,
// which is how IAM itself reads and writes them.
type values []string

// MarshalJSON writes one value as a string, more as a list.
func (v values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// UnmarshalJSON reads a string or a list.
func (v *values) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*v = values{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(v))
}

func allow(sid string, actions, resources values, conditions map[string]condition) statement {
	return statement{Sid: sid, Effect: "Allow", Action: actions, Resource: resources, Condition: conditions}
}

// render returns the document as JSON, or an error if it is larger than IAM takes.
func render(name string, limit int, statements ...statement) (string, error) {
	raw, err := json.Marshal(document{Version: "2012-10-17", Statement: statements})
	if err != nil {
		return "", fmt.Errorf("write policy %s: %w", name, err)
	}
	if size := Size(string(raw)); size > limit {
		return "", fmt.Errorf("policy %s has %d characters, IAM takes at most %d", name, size, limit)
	}
	return string(raw), nil
}

// Size is the number of characters that IAM counts: all but white space.
func Size(policy string) int {
	n := 0
	for _, r := range policy {
		if !unicode.IsSpace(r) {
			n++
		}
	}
	return n
}

// SameJSON reports whether two documents say the same. Texts that are no JSON must be equal.
func SameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

// SamePolicy reports whether two IAM policies say the same. As in IAM, a list of one value is that value, the order of
// values and statements means nothing, and neither do their ids.
func SamePolicy(a, b string) bool {
	x, xOK := canonical(a)
	y, yOK := canonical(b)
	return x == y && xOK == yOK
}

// canonical returns the one text of all policies that say the same, or the text itself if it is no JSON.
func canonical(text string) (string, bool) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return text, false
	}
	return encode(tree), true
}

// encode writes a part of a policy.
func encode(part any) string {
	var parts []string
	switch part := part.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(part)) {
			if key != "Sid" {
				parts = append(parts, strconv.Quote(key)+":"+encode(part[key]))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, element := range part {
			parts = append(parts, encode(element))
		}
		slices.Sort(parts)
		if parts = slices.Compact(parts); len(parts) == 1 {
			return parts[0]
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return strconv.Quote(fmt.Sprint(part)) // IAM takes "true" for true, and so on
}
