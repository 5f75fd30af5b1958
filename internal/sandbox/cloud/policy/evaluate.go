package policy

import (
	"regexp"
	"strings"
)

var (
	actionForm   = regexp.MustCompile(`^[a-zA-Z0-9-]+:[a-zA-Z0-9*?]+$`)
	resourceForm = regexp.MustCompile(`^arn:[^:]*:[^:]*:[^:]*:[^:]*:.+$`)
)

// Request is one thing that somebody wants to do.
type Request struct {
	Action    string    // "ec2:CreateFleet"
	Resource  string    // ARN, or "*" for actions that have no resource
	Principal Principal // only looked at by statements with principals
	Context   ContextKeys
}

// Principal is who asks, as trust policies name them: Kind is "AWS",
// "Service" or "Federated".
type Principal struct{ Kind, Name string }

// ContextKeys are the condition keys of a request; names are compared without
// regard to case. A key that is not there is absent.
type ContextKeys map[string][]string

func (c ContextKeys) lookup(name string) ([]string, bool) {
	if found, ok := c[name]; ok {
		return found, true
	}
	for key, found := range c {
		if strings.EqualFold(key, name) {
			return found, true
		}
	}
	return nil, false
}

// Decision is the outcome of an evaluation.
type Decision int

const (
	// NotAllowed means that no statement allows the request.
	NotAllowed Decision = iota
	// Denied means that a statement denies it, whatever others allow.
	Denied
	// Allowed means that a statement allows it and none denies it.
	Allowed
)

// Evaluate decides a request by the documents that apply to its caller.
func Evaluate(documents []Document, request Request) Decision {
	decision, _ := Explain(documents, request)
	return decision
}

// Explain decides a request and returns the Sids of the statements that allow it,
// if nothing denies it.
func Explain(documents []Document, request Request) (decision Decision, by []string) {
	decision = NotAllowed
	for _, document := range documents {
		for _, statement := range document.Statements {
			if !statement.applies(request) {
				continue
			}
			if statement.Effect == "Deny" {
				return Denied, nil
			}
			decision, by = Allowed, append(by, statement.Sid)
		}
	}
	return decision, by
}

func (s Statement) applies(r Request) bool {
	return s.appliesToAction(r.Action) && s.appliesToResource(r) &&
		s.appliesToPrincipal(r.Principal) && s.conditionsHold(r.Context)
}

func (s Statement) appliesToAction(action string) bool {
	if len(s.NotAction) > 0 {
		return !matchesAnyFold(s.NotAction, action)
	}
	return matchesAnyFold(s.Action, action)
}

// appliesToResource treats a statement without resources (a trust policy) as
// one about the role itself.
func (s Statement) appliesToResource(r Request) bool {
	switch {
	case len(s.NotResource) > 0:
		return !matchesAny(s.NotResource, r)
	case len(s.Resource) > 0:
		return matchesAny(s.Resource, r)
	default:
		return true
	}
}

func (s Statement) appliesToPrincipal(p Principal) bool {
	switch {
	case len(s.NotPrincipal) > 0:
		return !s.NotPrincipal.contains(p)
	case len(s.Principal) > 0:
		return s.Principal.contains(p)
	default:
		return true
	}
}

// contains also accepts an account in place of each of its principals, in both
// of the forms that the language has for an account.
func (ps principals) contains(p Principal) bool {
	for _, name := range ps[p.Kind] {
		if name == "*" || name == p.Name {
			return true
		}
		if p.Kind == "AWS" && (name == accountOf(p.Name) || name == "arn:aws:iam::"+accountOf(p.Name)+":root") {
			return true
		}
	}
	return false
}

func accountOf(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

func matchesAnyFold(patterns []string, action string) bool {
	for _, pattern := range patterns {
		if Match(strings.ToLower(pattern), strings.ToLower(action)) {
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, r Request) bool {
	for _, pattern := range patterns {
		if Match(expand(pattern, r.Context), r.Resource) {
			return true
		}
	}
	return false
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expand replaces policy variables such as ${aws:PrincipalTag/team}. One that
// has no value is left, so that it matches nothing.
func expand(pattern string, context ContextKeys) string {
	if !strings.Contains(pattern, "${") {
		return pattern
	}
	return variable.ReplaceAllStringFunc(pattern, func(name string) string {
		found, ok := context.lookup(name[2 : len(name)-1])
		if !ok || len(found) != 1 {
			return name
		}
		return found[0]
	})
}

// Match tells whether text has the form of pattern, in which * stands for any
// characters and ? for one.
func Match(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
