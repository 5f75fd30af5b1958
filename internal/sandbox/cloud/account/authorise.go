package account

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// Access is one permission that a call needs.
type Access struct {
	Action   string // "ec2:RunInstances"
	Resource string // ARN, or "*" if the action has none
	Context  policy.ContextKeys
}

// Grant is a permission that a call made use of: the role that made it, the Sid of
// the statement that allowed it, and the action.
type Grant struct{ Role, Statement, Action string }

// Grants returns the permissions that roles have made use of so far.
func (c *Account) Grants() []Grant {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Collect(maps.Keys(c.grants))
}

// authorise checks that the caller's policies allow all of the accesses.
func (c *Account) authorise(caller *Caller, needed []Access) error {
	if caller.Who.Admin {
		return nil
	}
	documents, boundary := c.Roles.Documents(caller.Who.role)
	for _, need := range needed {
		request := policy.Request{
			Action:   need.Action,
			Resource: need.Resource,
			Context:  c.WithGlobalKeys(caller, need.Context),
		}
		decision, by := policy.Explain(documents, request)
		if decision != policy.Allowed {
			return denied(caller, need, decision, "an identity-based policy")
		}
		if boundary != nil {
			if decision := policy.Evaluate([]policy.Document{*boundary}, request); decision != policy.Allowed {
				return denied(caller, need, decision, "a permissions boundary")
			}
		}
		for _, sid := range by {
			c.grants[Grant{Role: caller.Who.role, Statement: sid, Action: need.Action}] = true
		}
	}
	return nil
}

// denied names the kind of the policy that does not allow what is needed.
func denied(caller *Caller, need Access, decision policy.Decision, kind string) *APIError {
	_, noun, _ := strings.Cut(kind, " ")
	reason := "because no " + noun + " allows the " + need.Action + " action"
	if decision == policy.Denied {
		reason = "with an explicit deny in " + kind
	}
	words := caller.service.Words
	opening := ""
	if words.denied == "UnauthorizedOperation" {
		opening = "You are not authorized to perform this operation. "
	}
	return Fail(words.denied, "%sUser: %s is not authorized to perform: %s on resource: %s %s",
		opening, caller.Who.ARN, need.Action, need.Resource, reason).With(words.DeniedStatus)
}

// WithGlobalKeys adds the condition keys that every request has. The model
// stands for a service behind TLS, whatever it is served by.
func (c *Account) WithGlobalKeys(caller *Caller, keys policy.ContextKeys) policy.ContextKeys {
	all := policy.ContextKeys{
		"aws:RequestedRegion":  {c.Region},
		"aws:PrincipalArn":     {c.PrincipalARN(caller.Who)},
		"aws:PrincipalAccount": {c.AccountID},
		"aws:userid":           {caller.Who.UserID},
		"aws:SecureTransport":  {"true"},
		"aws:CurrentTime":      {c.Wall().UTC().Format("2006-01-02T15:04:05Z")},
	}
	if caller.service.Name == "ec2" {
		all["ec2:Region"] = []string{c.Region}
	}
	maps.Copy(all, keys)
	return all
}

// PrincipalARN returns the ARN by which policies know a caller: for a session
// that of its role.
func (c *Account) PrincipalARN(who Principal) string {
	if arn, ok := c.Roles.ArnOf(who.role); ok {
		return arn
	}
	return who.ARN
}

// tagKeys returns the condition keys of tags under a prefix such as
// "aws:RequestTag/".
func tagKeys(prefix string, tags map[string]string) policy.ContextKeys {
	keys := policy.ContextKeys{}
	for name, value := range tags {
		keys[prefix+name] = []string{value}
	}
	return keys
}

// RequestTags returns the keys by which a policy sees the tags of a request.
func RequestTags(tags map[string]string) policy.ContextKeys {
	keys := tagKeys("aws:RequestTag/", tags)
	if len(tags) > 0 {
		keys["aws:TagKeys"] = SortedKeys(tags)
	}
	return keys
}

// ResourceTags returns the keys by which a policy sees the tags of a resource;
// service is the prefix of the service's own key, or empty if it has none.
func ResourceTags(service string, tags map[string]string) policy.ContextKeys {
	keys := tagKeys("aws:ResourceTag/", tags)
	if service != "" {
		maps.Copy(keys, tagKeys(service+":ResourceTag/", tags))
	}
	return keys
}

// Merge returns the union of sets of condition keys.
func Merge(sets ...policy.ContextKeys) policy.ContextKeys {
	all := policy.ContextKeys{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

// Forbidden is the error for something that AWS refuses whatever the policies
// say.
func Forbidden(code, format string, args ...any) *APIError {
	return Fail(code, format, args...).With(http.StatusForbidden)
}

// Roles is what the model of IAM tells the others.
type Roles interface {
	// Documents returns the policies that say what a role may do, and the one that says what
	// it may do at most, if it has one.
	Documents(role string) (documents []policy.Document, boundary *policy.Document)
	// ArnOf returns the ARN of the role of a name, if there is one.
	ArnOf(role string) (arn string, ok bool)
}
