// Package policy reads and evaluates IAM policy documents: identity policies,
// role trust policies and policies of resources. It knows the language, not the account: who calls,
// what is asked for and the context keys are given by the caller.
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Document is a parsed policy document.
type Document struct {
	Version    string
	ID         string     `json:"Id"`
	Statements statements `json:"Statement"`
}

// Statement is one rule of a document.
type Statement struct {
	Sid          string
	Effect       string
	Principal    principals
	NotPrincipal principals
	Action       values
	NotAction    values
	Resource     values
	NotResource  values
	Condition    map[string]map[string]values
}

// statements, values and principals accept the short forms of the language:
// a single statement or value without its list, and "*" for every principal.
type (
	statements []Statement
	values     []string
	principals map[string]values
)

func (s *statements) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return strict(data, (*[]Statement)(s))
	}
	var one Statement
	if err := strict(data, &one); err != nil {
		return err
	}
	*s = statements{one}
	return nil
}

func (v *values) UnmarshalJSON(data []byte) error {
	var list []any
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
	} else {
		var one any
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		list = []any{one}
	}
	for _, item := range list {
		switch item := item.(type) {
		case string:
			*v = append(*v, item)
		case bool, float64:
			*v = append(*v, fmt.Sprint(item))
		default:
			return fmt.Errorf("%v is not a string", item)
		}
	}
	return nil
}

func (ps *principals) UnmarshalJSON(data []byte) error {
	var everyone string
	if json.Unmarshal(data, &everyone) == nil {
		if everyone != "*" {
			return fmt.Errorf("principal %q is neither an object nor *", everyone)
		}
		*ps = principals{"AWS": {"*"}}
		return nil
	}
	return json.Unmarshal(data, (*map[string]values)(ps))
}

func strict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// Kind is what a document is attached to; it decides which elements a
// statement must have.
type Kind int

const (
	// Identity documents are attached to roles: statements have resources.
	Identity Kind = iota
	// Trust documents say who may assume a role: statements have principals.
	Trust
	// Resource documents are attached to resources: statements have both.
	Resource
)

// Parse reads a document and checks its grammar the way IAM does when a
// policy is stored.
func Parse(text string, kind Kind) (Document, error) {
	var doc Document
	if err := strict([]byte(text), &doc); err != nil {
		return Document{}, fmt.Errorf("syntax errors in policy: %w", err)
	}
	if doc.Version != "" && doc.Version != "2012-10-17" && doc.Version != "2008-10-17" {
		return Document{}, fmt.Errorf("the policy version %q is not supported", doc.Version)
	}
	if len(doc.Statements) == 0 {
		return Document{}, errors.New("the policy has no statement")
	}
	sids := map[string]bool{}
	for i, s := range doc.Statements {
		if err := s.check(kind); err != nil {
			return Document{}, fmt.Errorf("statement %d: %w", i+1, err)
		}
		if s.Sid != "" && sids[s.Sid] {
			return Document{}, fmt.Errorf("statement IDs (SID) in a single policy must be unique: %s", s.Sid)
		}
		sids[s.Sid] = true
	}
	return doc, nil
}

func (s Statement) check(kind Kind) error {
	if s.Effect != "Allow" && s.Effect != "Deny" {
		return fmt.Errorf("invalid effect: %q", s.Effect)
	}
	if (len(s.Action) == 0) == (len(s.NotAction) == 0) {
		return errors.New("policy statement must contain actions")
	}
	hasResource := len(s.Resource)+len(s.NotResource) > 0
	hasPrincipal := len(s.Principal)+len(s.NotPrincipal) > 0
	switch {
	case kind != Trust && !hasResource:
		return errors.New("policy statement must contain resources")
	case kind == Identity && hasPrincipal:
		return errors.New("policy document should not specify a principal")
	case kind == Trust && hasResource:
		return errors.New("has prohibited field Resource")
	case kind != Identity && !hasPrincipal:
		return errors.New("missing required field Principal")
	}
	for operator := range s.Condition {
		if _, err := parseOperator(operator); err != nil {
			return err
		}
	}
	return s.checkPatterns(kind)
}

func (s Statement) checkPatterns(kind Kind) error {
	for _, action := range append(append(values{}, s.Action...), s.NotAction...) {
		if action != "*" && !actionForm.MatchString(action) {
			return fmt.Errorf("actions/conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.: %q", action)
		}
	}
	if kind == Trust {
		return nil
	}
	for _, resource := range append(append(values{}, s.Resource...), s.NotResource...) {
		if resource != "*" && !resourceForm.MatchString(resource) {
			return fmt.Errorf("resource %s must be in ARN format or \"*\"", resource)
		}
	}
	return nil
}
