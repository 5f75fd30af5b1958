package iam

import (
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

var thumbprintForm = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

// Limits of an OIDC provider, from the IAM quotas.
const (
	maxThumbprints = 5
	maxClientIDs   = 100
)

// ProviderARN returns the ARN of the OIDC provider for an issuer's URL.
func (c *IAM) ProviderARN(issuer string) string {
	return c.IAMARN("oidc-provider/" + strings.TrimPrefix(issuer, "https://"))
}

func checkThumbprints(list []string) error {
	if len(list) > maxThumbprints {
		return account.Fail("InvalidInput", "Thumbprint list must contain fewer than %d entries.", maxThumbprints)
	}
	for _, thumbprint := range list {
		if !thumbprintForm.MatchString(thumbprint) {
			return account.Fail("ValidationError", "Thumbprint %s is not 40 hexadecimal digits", thumbprint)
		}
	}
	return nil
}

func (c *IAM) createProvider(_ *account.Caller, in *iam.CreateOpenIDConnectProviderInput) (*iam.CreateOpenIDConnectProviderOutput, error) {
	url, secure := strings.CutPrefix(account.Deref(in.Url), "https://")
	if !secure || url == "" {
		return nil, account.Fail("ValidationError", "Invalid Open ID Connect Provider URL")
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	if len(in.ClientIDList) > maxClientIDs {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", maxClientIDs)
	}
	tags := TagsOfIAM(in.Tags)
	if err := account.CheckTags(tags); err != nil {
		return nil, err
	}
	arn := c.ProviderARN(*in.Url)
	if c.Directory.Providers[arn] != nil {
		return nil, conflict("EntityAlreadyExists", "Provider with url %s already exists.", *in.Url)
	}
	c.Directory.Providers[arn] = &oidcProvider{
		url: url, ClientIDs: in.ClientIDList, thumbprints: in.ThumbprintList, created: c.Now(), tags: tags,
	}
	return &iam.CreateOpenIDConnectProviderOutput{OpenIDConnectProviderArn: &arn, Tags: iamTags(tags)}, nil
}

// seenProvider returns the OIDC provider that reads show. A new one is not seen at once, and one that has been deleted is
// seen for a while.
func (c *IAM) seenProvider(arn string) *oidcProvider {
	if p := c.Directory.Providers[arn]; p != nil && !c.UnheardOf(p.created) {
		return p
	}
	if p := c.Directory.deleted[arn]; p != nil && c.UnheardOf(p.deleted) {
		return p
	}
	return nil
}

func (c *IAM) getProvider(_ *account.Caller, in *iam.GetOpenIDConnectProviderInput) (*iam.GetOpenIDConnectProviderOutput, error) {
	p := c.seenProvider(account.Deref(in.OpenIDConnectProviderArn))
	if p == nil {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", account.Deref(in.OpenIDConnectProviderArn))
	}
	return &iam.GetOpenIDConnectProviderOutput{
		Url: &p.url, ClientIDList: p.ClientIDs, ThumbprintList: p.thumbprints, CreateDate: &p.created, Tags: iamTags(p.tags),
	}, nil
}

func (c *IAM) listProviders(*account.Caller, *iam.ListOpenIDConnectProvidersInput) (*iam.ListOpenIDConnectProvidersOutput, error) {
	out := &iam.ListOpenIDConnectProvidersOutput{OpenIDConnectProviderList: []types.OpenIDConnectProviderListEntry{}}
	for _, arn := range account.SortedKeys(c.Directory.Providers) {
		out.OpenIDConnectProviderList = append(out.OpenIDConnectProviderList, types.OpenIDConnectProviderListEntry{Arn: aws.String(arn)})
	}
	return out, nil
}

// deleteProvider is no error for one that does not exist, as in AWS it is not.
func (c *IAM) deleteProvider(_ *account.Caller, in *iam.DeleteOpenIDConnectProviderInput) (*iam.DeleteOpenIDConnectProviderOutput, error) {
	arn := account.Deref(in.OpenIDConnectProviderArn)
	if p := c.Directory.Providers[arn]; p != nil {
		p.deleted = c.Now()
		c.Directory.deleted[arn] = p
	}
	delete(c.Directory.Providers, arn)
	return &iam.DeleteOpenIDConnectProviderOutput{}, nil
}
