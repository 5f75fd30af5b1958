// Package iam is a model of IAM.
package iam

import (
	"cmp"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// IAM is the service with the account's roles and policies.
type IAM struct {
	*account.Account
	Directory *Directory
}

// New returns the service with the policies that AWS provides and a role for nodes.
func New(a *account.Account) *IAM {
	c := &IAM{Account: a}
	c.Directory = newDirectory(c)
	a.Roles = c
	return c
}

// Limits of IAM, from the IAM and STS quotas. Sizes are in characters, without
// white space.
const (
	maxInlinePolicySize = 10_240 // of all inline policies of a role together
	maxTrustPolicySize  = 2_048
)

// Service returns the calls that it answers.
func (c *IAM) Service() *account.Service {
	s := &account.Service{
		Version:    "2010-05-08",
		Name:       "iam",
		Protocol:   account.QueryProtocol{Dialect: wire.Query(), Namespace: "https://iam.amazonaws.com/doc/2010-05-08/", Wrapped: true},
		Words:      account.QueryDialect(),
		Operations: map[string]account.Operation{},
	}
	addRoleOperations(s, c)
	addRolePolicyOperations(s, c)
	addProviderOperations(s, c)
	addProfileOperations(s, c)
	return s
}

func addRoleOperations(s *account.Service, c *IAM) {
	account.AddOn(s, c, onRole, (*IAM).createRole)
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).getRole))
	account.AddOnAnything(s, c, (*IAM).listRoles)
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).updateRole))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).updateAssumeRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, putBoundary))
	account.AddOn(s, c, onRole, account.Found(roleIn, deleteBoundary))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).deleteRole))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).tagRole))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).untagRole))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).listRoleTags))
}

func addRolePolicyOperations(s *account.Service, c *IAM) {
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).putRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).getRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).deleteRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).listRolePolicies))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).attachRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).detachRolePolicy))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).listAttachedRolePolicies))
}

func addProviderOperations(s *account.Service, c *IAM) {
	account.AddOn(s, c, onProvider, (*IAM).createProvider)
	account.AddOn(s, c, onProvider, (*IAM).getProvider)
	account.AddOnAnything(s, c, (*IAM).listProviders)
	account.AddOn(s, c, onProvider, (*IAM).deleteProvider)
}

func addProfileOperations(s *account.Service, c *IAM) {
	account.AddOn(s, c, onProfile, (*IAM).createInstanceProfile)
	account.AddOn(s, c, onProfile, account.Found(profileIn, (*IAM).getInstanceProfile))
	account.AddOn(s, c, onRole, account.Found(roleIn, (*IAM).listInstanceProfilesForRole))
	account.Add(s, c, accessesOfAddRoleToInstanceProfile, account.Found(profileIn, (*IAM).addRoleToInstanceProfile))
	account.AddOn(s, c, onProfile, account.Found(profileIn, (*IAM).removeRoleFromInstanceProfile))
	account.AddOn(s, c, onProfile, account.Found(profileIn, (*IAM).deleteInstanceProfile))
	account.AddOn(s, c, onProfile, account.Found(profileIn, (*IAM).tagInstanceProfile))
	account.AddOn(s, c, onProfile, account.Found(profileIn, (*IAM).untagInstanceProfile))
}

// UnheardOf tells whether something that was created then is not known
// everywhere yet: IAM is eventually consistent.
func (c *IAM) UnheardOf(created time.Time) bool {
	return c.Now().Before(created.Add(c.Behaves.IAMLag))
}

// tagsMember reads the Tags member of an input, if it has one.
func tagsMember(input any) map[string]string {
	field := reflect.ValueOf(input).Elem().FieldByName("Tags")
	if !field.IsValid() {
		return nil
	}
	list, _ := reflect.TypeAssert[[]types.Tag](field)
	return TagsOfIAM(list)
}

// onRole is the permission for a call about the role named by RoleName.
func onRole[In any](action string) func(*IAM, *In) []account.Access {
	return func(c *IAM, input *In) []account.Access {
		name := account.TextMember(input, "RoleName")
		resource, tags := c.IAMARN("role"+pathOf(account.TextMember(input, "Path"))+name), map[string]string(nil)
		boundary := account.TextMember(input, "PermissionsBoundary")
		if r := c.Directory.Roles[name]; r != nil {
			resource, tags, boundary = c.RoleARN(r), r.tags, cmp.Or(boundary, r.boundary)
		}
		keys := account.Merge(account.RequestTags(tagsMember(input)), account.ResourceTags("iam", tags))
		if boundary != "" {
			keys["iam:PermissionsBoundary"] = []string{boundary}
		}
		if attached := account.TextMember(input, "PolicyArn"); attached != "" {
			keys["iam:PolicyARN"] = []string{attached}
		}
		return []account.Access{{Action: action, Resource: resource, Context: keys}}
	}
}

// onProvider is the permission for a call about an OIDC provider.
func onProvider[In any](action string) func(*IAM, *In) []account.Access {
	return func(c *IAM, input *In) []account.Access {
		resource := account.TextMember(input, "OpenIDConnectProviderArn")
		if resource == "" {
			resource = c.ProviderARN(account.TextMember(input, "Url"))
		}
		var tags map[string]string
		if p := c.Directory.Providers[resource]; p != nil {
			tags = p.tags
		}
		return []account.Access{{Action: action, Resource: resource, Context: account.Merge(account.RequestTags(tagsMember(input)), account.ResourceTags("iam", tags))}}
	}
}

// onProfile is the permission for a call about an instance profile.
func onProfile[In any](action string) func(*IAM, *In) []account.Access {
	return func(c *IAM, input *In) []account.Access {
		name := account.TextMember(input, "InstanceProfileName")
		resource, tags := c.IAMARN("instance-profile"+pathOf(account.TextMember(input, "Path"))+name), map[string]string(nil)
		if p := c.Directory.Profiles[name]; p != nil {
			resource, tags = c.ProfileARN(name), p.tags
		}
		return []account.Access{{Action: action, Resource: resource, Context: account.Merge(account.RequestTags(tagsMember(input)), account.ResourceTags("iam", tags))}}
	}
}

func pathOf(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

var (
	nameForm = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)
	pathForm = regexp.MustCompile(`^(/|/[!-~]+/)$`)
)

func checkName(member, name string, limit int) error {
	if !nameForm.MatchString(name) || len(name) > limit {
		return account.Fail("ValidationError", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length between 1 and %d and consist of letters, digits and +=,.@_-", name, member, limit)
	}
	return nil
}

func checkPath(path *string) error {
	if path != nil && !pathForm.MatchString(*path) {
		return account.Fail("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}

func noSuchEntity(format string, args ...any) *account.APIError {
	return account.Fail("NoSuchEntity", format, args...).With(http.StatusNotFound)
}

func conflict(code, format string, args ...any) *account.APIError {
	return account.Fail(code, format, args...).With(http.StatusConflict)
}

// sizeOf counts the characters that IAM counts.
func sizeOf(document string) int {
	return len(strings.Join(strings.Fields(document), ""))
}

// encoded returns a policy document as IAM returns it.
func encoded(document string) *string {
	text := strings.ReplaceAll(url.QueryEscape(document), "+", "%20")
	return &text
}

// TagsOfIAM returns IAM's list of tags as a map. Of tags with the same key the last counts.
func TagsOfIAM(list []types.Tag) map[string]string {
	tags := map[string]string{}
	for _, tag := range list {
		tags[account.Deref(tag.Key)] = account.Deref(tag.Value)
	}
	return tags
}

func iamTags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range account.SortedKeys(tags) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

// pageIAM returns the part of a list that a marker and a limit ask for.
func pageIAM[T any](items []T, marker *string, maxItems *int32) (part []T, truncated bool, next *string, err error) {
	part, next, err = account.Page(items, marker, maxItems, 100)
	if err != nil {
		return nil, false, nil, account.Fail("ValidationError", "Invalid Marker or MaxItems.")
	}
	return part, next != nil, next, nil
}
