package cloud

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// Limits of IAM, from the IAM and STS quotas. Sizes are in characters, without
// white space.
const (
	maxManagedPolicySize = 6_144
	maxInlinePolicySize  = 10_240 // of all inline policies of a role together
	maxTrustPolicySize   = 2_048
	maxAttachedPolicies  = 10
	maxPolicyVersions    = 5
)

func newIAM() *service {
	s := &service{
		name:       "iam",
		protocol:   queryProtocol{dialect: wire.Query(), namespace: "https://iam.amazonaws.com/doc/2010-05-08/", wrapped: true},
		words:      queryDialect(),
		operations: map[string]operation{},
	}
	addRoleOperations(s)
	addRolePolicyOperations(s)
	addPolicyOperations(s)
	addProviderOperations(s)
	addProfileOperations(s)
	return s
}

func addRoleOperations(s *service) {
	add(s, onRole[iam.CreateRoleInput]("iam:CreateRole"), (*Cloud).createRole)
	add(s, onRole[iam.GetRoleInput]("iam:GetRole"), (*Cloud).getRole)
	add(s, onAnything[iam.ListRolesInput]("iam:ListRoles"), (*Cloud).listRoles)
	add(s, onRole[iam.UpdateRoleInput]("iam:UpdateRole"), (*Cloud).updateRole)
	add(s, onRole[iam.UpdateAssumeRolePolicyInput]("iam:UpdateAssumeRolePolicy"), (*Cloud).updateAssumeRolePolicy)
	add(s, onRole[iam.DeleteRoleInput]("iam:DeleteRole"), (*Cloud).deleteRole)
	add(s, onRole[iam.TagRoleInput]("iam:TagRole"), (*Cloud).tagRole)
	add(s, onRole[iam.UntagRoleInput]("iam:UntagRole"), (*Cloud).untagRole)
	add(s, onRole[iam.ListRoleTagsInput]("iam:ListRoleTags"), (*Cloud).listRoleTags)
}

func addRolePolicyOperations(s *service) {
	add(s, onRole[iam.PutRolePolicyInput]("iam:PutRolePolicy"), (*Cloud).putRolePolicy)
	add(s, onRole[iam.GetRolePolicyInput]("iam:GetRolePolicy"), (*Cloud).getRolePolicy)
	add(s, onRole[iam.DeleteRolePolicyInput]("iam:DeleteRolePolicy"), (*Cloud).deleteRolePolicy)
	add(s, onRole[iam.ListRolePoliciesInput]("iam:ListRolePolicies"), (*Cloud).listRolePolicies)
	add(s, onRole[iam.AttachRolePolicyInput]("iam:AttachRolePolicy"), (*Cloud).attachRolePolicy)
	add(s, onRole[iam.DetachRolePolicyInput]("iam:DetachRolePolicy"), (*Cloud).detachRolePolicy)
	add(s, onRole[iam.ListAttachedRolePoliciesInput]("iam:ListAttachedRolePolicies"), (*Cloud).listAttachedRolePolicies)
}

func addPolicyOperations(s *service) {
	add(s, onPolicy[iam.CreatePolicyInput]("iam:CreatePolicy"), (*Cloud).createPolicy)
	add(s, onPolicy[iam.GetPolicyInput]("iam:GetPolicy"), (*Cloud).getPolicy)
	add(s, onAnything[iam.ListPoliciesInput]("iam:ListPolicies"), (*Cloud).listPolicies)
	add(s, onPolicy[iam.DeletePolicyInput]("iam:DeletePolicy"), (*Cloud).deletePolicy)
	add(s, onPolicy[iam.GetPolicyVersionInput]("iam:GetPolicyVersion"), (*Cloud).getPolicyVersion)
	add(s, onPolicy[iam.CreatePolicyVersionInput]("iam:CreatePolicyVersion"), (*Cloud).createPolicyVersion)
	add(s, onPolicy[iam.ListPolicyVersionsInput]("iam:ListPolicyVersions"), (*Cloud).listPolicyVersions)
	add(s, onPolicy[iam.DeletePolicyVersionInput]("iam:DeletePolicyVersion"), (*Cloud).deletePolicyVersion)
	add(s, onPolicy[iam.SetDefaultPolicyVersionInput]("iam:SetDefaultPolicyVersion"), (*Cloud).setDefaultPolicyVersion)
	add(s, onPolicy[iam.ListPolicyTagsInput]("iam:ListPolicyTags"), (*Cloud).listPolicyTags)
	add(s, onPolicy[iam.TagPolicyInput]("iam:TagPolicy"), (*Cloud).tagPolicy)
	add(s, onPolicy[iam.UntagPolicyInput]("iam:UntagPolicy"), (*Cloud).untagPolicy)
}

func addProviderOperations(s *service) {
	add(s, onProvider[iam.CreateOpenIDConnectProviderInput]("iam:CreateOpenIDConnectProvider"), (*Cloud).createProvider)
	add(s, onProvider[iam.GetOpenIDConnectProviderInput]("iam:GetOpenIDConnectProvider"), (*Cloud).getProvider)
	add(s, onAnything[iam.ListOpenIDConnectProvidersInput]("iam:ListOpenIDConnectProviders"), (*Cloud).listProviders)
	add(s, onProvider[iam.DeleteOpenIDConnectProviderInput]("iam:DeleteOpenIDConnectProvider"), (*Cloud).deleteProvider)
	add(s, onProvider[iam.UpdateOpenIDConnectProviderThumbprintInput]("iam:UpdateOpenIDConnectProviderThumbprint"), (*Cloud).updateThumbprint)
	add(s, onProvider[iam.AddClientIDToOpenIDConnectProviderInput]("iam:AddClientIDToOpenIDConnectProvider"), (*Cloud).addClientID)
	add(s, onProvider[iam.RemoveClientIDFromOpenIDConnectProviderInput]("iam:RemoveClientIDFromOpenIDConnectProvider"), (*Cloud).removeClientID)
	add(s, onProvider[iam.TagOpenIDConnectProviderInput]("iam:TagOpenIDConnectProvider"), (*Cloud).tagProvider)
	add(s, onProvider[iam.UntagOpenIDConnectProviderInput]("iam:UntagOpenIDConnectProvider"), (*Cloud).untagProvider)
}

func addProfileOperations(s *service) {
	add(s, onProfile[iam.CreateInstanceProfileInput]("iam:CreateInstanceProfile"), (*Cloud).createInstanceProfile)
	add(s, onProfile[iam.GetInstanceProfileInput]("iam:GetInstanceProfile"), (*Cloud).getInstanceProfile)
	add(s, onAnything[iam.ListInstanceProfilesInput]("iam:ListInstanceProfiles"), (*Cloud).listInstanceProfiles)
	add(s, onRole[iam.ListInstanceProfilesForRoleInput]("iam:ListInstanceProfilesForRole"), (*Cloud).listInstanceProfilesForRole)
	add(s, accessesOfAddRoleToInstanceProfile, (*Cloud).addRoleToInstanceProfile)
	add(s, onProfile[iam.RemoveRoleFromInstanceProfileInput]("iam:RemoveRoleFromInstanceProfile"), (*Cloud).removeRoleFromInstanceProfile)
	add(s, onProfile[iam.DeleteInstanceProfileInput]("iam:DeleteInstanceProfile"), (*Cloud).deleteInstanceProfile)
	add(s, onProfile[iam.TagInstanceProfileInput]("iam:TagInstanceProfile"), (*Cloud).tagInstanceProfile)
	add(s, onProfile[iam.UntagInstanceProfileInput]("iam:UntagInstanceProfile"), (*Cloud).untagInstanceProfile)
}

// unheardOf tells whether something that was created then is not known
// everywhere yet: IAM is eventually consistent.
func (c *Cloud) unheardOf(created time.Time) bool {
	return c.now().Before(created.Add(c.behaviour.IAMLag))
}

func (c *Cloud) iamARN(resource string) string {
	return "arn:aws:iam::" + c.account + ":" + resource
}

// textMember reads a string member of an input by name; it is empty if the
// input has none.
func textMember(input any, name string) string {
	field := reflect.ValueOf(input).Elem().FieldByName(name)
	if !field.IsValid() || field.Kind() != reflect.Pointer || field.IsNil() {
		return ""
	}
	return field.Elem().String()
}

// tagsMember reads the Tags member of an input, if it has one.
func tagsMember(input any) map[string]string {
	field := reflect.ValueOf(input).Elem().FieldByName("Tags")
	if !field.IsValid() {
		return nil
	}
	list, _ := reflect.TypeAssert[[]types.Tag](field)
	return tagsOfIAM(list)
}

// onRole is the permission for a call about the role named by RoleName.
func onRole[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		name := textMember(input, "RoleName")
		resource, tags := c.iamARN("role"+pathOf(textMember(input, "Path"))+name), map[string]string(nil)
		if r := c.iam.roles[name]; r != nil {
			resource, tags = c.roleARN(r), r.tags
		}
		keys := merge(requestTags(tagsMember(input)), resourceTags("iam", tags))
		if attached := textMember(input, "PolicyArn"); attached != "" {
			keys["iam:PolicyARN"] = []string{attached}
		}
		return []access{{action: action, resource: resource, context: keys}}
	}
}

// onPolicy is the permission for a call about the policy named by PolicyArn,
// or by PolicyName if it is yet to be made.
func onPolicy[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		resource := textMember(input, "PolicyArn")
		if resource == "" {
			resource = c.iamARN("policy" + pathOf(textMember(input, "Path")) + textMember(input, "PolicyName"))
		}
		var tags map[string]string
		if p := c.iam.policies[resource]; p != nil {
			tags = p.tags
		}
		return []access{{action: action, resource: resource, context: merge(requestTags(tagsMember(input)), resourceTags("iam", tags))}}
	}
}

// onProvider is the permission for a call about an OIDC provider.
func onProvider[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		resource := textMember(input, "OpenIDConnectProviderArn")
		if resource == "" {
			resource = c.providerARN(textMember(input, "Url"))
		}
		var tags map[string]string
		if p := c.iam.providers[resource]; p != nil {
			tags = p.tags
		}
		return []access{{action: action, resource: resource, context: merge(requestTags(tagsMember(input)), resourceTags("iam", tags))}}
	}
}

// onProfile is the permission for a call about an instance profile.
func onProfile[In any](action string) accesses[In] {
	return func(c *Cloud, input *In) []access {
		name := textMember(input, "InstanceProfileName")
		resource, tags := c.iamARN("instance-profile"+pathOf(textMember(input, "Path"))+name), map[string]string(nil)
		if p := c.iam.profiles[name]; p != nil {
			resource, tags = c.profileARN(name), p.tags
		}
		return []access{{action: action, resource: resource, context: merge(requestTags(tagsMember(input)), resourceTags("iam", tags))}}
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
		return fail("ValidationError", "1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: Member must have length between 1 and %d and consist of letters, digits and +=,.@_-", name, member, limit)
	}
	return nil
}

func checkPath(path *string) error {
	if path != nil && !pathForm.MatchString(*path) {
		return fail("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return nil
}

func noSuchEntity(format string, args ...any) *apiError {
	return fail("NoSuchEntity", format, args...).with(http.StatusNotFound)
}

func conflict(code, format string, args ...any) *apiError {
	return fail(code, format, args...).with(http.StatusConflict)
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

func tagsOfIAM(list []types.Tag) map[string]string {
	tags := map[string]string{}
	for _, tag := range list {
		tags[deref(tag.Key)] = deref(tag.Value)
	}
	return tags
}

func iamTags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range sortedKeys(tags) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return conflict("LimitExceeded", "Cannot exceed quota for TagsPerRole: %d", maxTags)
	}
	for key := range tags {
		if key == "" || len(key) > 128 || strings.HasPrefix(strings.ToLower(key), "aws:") {
			return fail("InvalidInput", "The tag key '%s' is invalid.", key)
		}
	}
	return nil
}

// pageIAM returns the part of a list that a marker and a limit ask for.
func pageIAM[T any](items []T, marker *string, maxItems *int32) (part []T, truncated bool, next *string, err error) {
	part, next, err = page(items, marker, maxItems, 100)
	if err != nil {
		return nil, false, nil, fail("ValidationError", "Invalid Marker or MaxItems.")
	}
	return part, next != nil, next, nil
}
