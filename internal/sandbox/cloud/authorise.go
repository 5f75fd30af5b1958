package cloud

import (
	"maps"
	"net/http"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/policy"
)

// access is one permission that a call needs.
type access struct {
	action   string // "ec2:RunInstances"
	resource string // ARN, or "*" if the action has none
	context  policy.ContextKeys
}

// Grant is a permission that a call made use of: the role that made it, the Sid of
// the statement that allowed it, and the action.
type Grant struct{ Role, Statement, Action string }

// Grants returns the permissions that roles have made use of so far.
func (c *Cloud) Grants() []Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.grants))
}

// authorise checks that the caller's policies allow all of the accesses.
func (c *Cloud) authorise(caller *call, needed []access) error {
	if caller.who.admin {
		return nil
	}
	documents := c.documents(caller.who.role)
	for _, need := range needed {
		decision, by := policy.Explain(documents, policy.Request{
			Action:   need.action,
			Resource: need.resource,
			Context:  c.withGlobalKeys(caller, need.context),
		})
		if decision != policy.Allowed {
			return denied(caller, need, decision)
		}
		for _, sid := range by {
			c.grants[Grant{Role: caller.who.role, Statement: sid, Action: need.action}] = true
		}
	}
	return nil
}

func denied(caller *call, need access, decision policy.Decision) *apiError {
	reason := "because no identity-based policy allows the " + need.action + " action"
	if decision == policy.Denied {
		reason = "with an explicit deny in an identity-based policy"
	}
	words := caller.service.words
	opening := ""
	if words.denied == "UnauthorizedOperation" {
		opening = "You are not authorized to perform this operation. "
	}
	return fail(words.denied, "%sUser: %s is not authorized to perform: %s on resource: %s %s",
		opening, caller.who.arn, need.action, need.resource, reason).with(words.deniedStatus)
}

// withGlobalKeys adds the condition keys that every request has. The model
// stands for a service behind TLS, whatever it is served by.
func (c *Cloud) withGlobalKeys(caller *call, keys policy.ContextKeys) policy.ContextKeys {
	all := policy.ContextKeys{
		"aws:RequestedRegion":  {c.region},
		"aws:PrincipalArn":     {c.principalARN(caller.who)},
		"aws:PrincipalAccount": {c.account},
		"aws:userid":           {caller.who.userID},
		"aws:SecureTransport":  {"true"},
		"aws:CurrentTime":      {c.wall().UTC().Format("2006-01-02T15:04:05Z")},
	}
	if caller.service.name == "ec2" {
		all["ec2:Region"] = []string{c.region}
	}
	maps.Copy(all, keys)
	return all
}

// principalARN returns the ARN by which policies know a caller: for a session
// that of its role.
func (c *Cloud) principalARN(who principal) string {
	if r := c.iam.roles[who.role]; r != nil {
		return c.roleARN(r)
	}
	return who.arn
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

// requestTags returns the keys by which a policy sees the tags of a request.
func requestTags(tags map[string]string) policy.ContextKeys {
	keys := tagKeys("aws:RequestTag/", tags)
	if len(tags) > 0 {
		keys["aws:TagKeys"] = sortedKeys(tags)
	}
	return keys
}

// resourceTags returns the keys by which a policy sees the tags of a resource;
// service is the prefix of the service's own key, or empty if it has none.
func resourceTags(service string, tags map[string]string) policy.ContextKeys {
	keys := tagKeys("aws:ResourceTag/", tags)
	if service != "" {
		maps.Copy(keys, tagKeys(service+":ResourceTag/", tags))
	}
	return keys
}

// merge returns the union of sets of condition keys.
func merge(sets ...policy.ContextKeys) policy.ContextKeys {
	all := policy.ContextKeys{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

// forbidden is the error for something that AWS refuses whatever the policies
// say.
func forbidden(code, format string, args ...any) *apiError {
	return fail(code, format, args...).with(http.StatusForbidden)
}
