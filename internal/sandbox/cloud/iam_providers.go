package cloud

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

var thumbprintForm = regexp.MustCompile(`^[0-9a-fA-F]{40}$`)

// Limits of an OIDC provider, from the IAM quotas.
const (
	maxThumbprints = 5
	maxClientIDs   = 100
)

// providerARN returns the ARN of the OIDC provider for an issuer's URL.
func (c *Cloud) providerARN(issuer string) string {
	return c.iamARN("oidc-provider/" + strings.TrimPrefix(issuer, "https://"))
}

func (c *Cloud) findProvider(arn *string) (*oidcProvider, error) {
	p := c.iam.providers[deref(arn)]
	if p == nil {
		return nil, noSuchEntity("OpenIDConnect Provider not found for arn %s", deref(arn))
	}
	return p, nil
}

func checkThumbprints(list []string) error {
	if len(list) > maxThumbprints {
		return fail("InvalidInput", "Thumbprint list must contain fewer than %d entries.", maxThumbprints)
	}
	for _, thumbprint := range list {
		if !thumbprintForm.MatchString(thumbprint) {
			return fail("ValidationError", "Thumbprint %s is not 40 hexadecimal digits", thumbprint)
		}
	}
	return nil
}

func (c *Cloud) createProvider(_ *call, in *iam.CreateOpenIDConnectProviderInput) (*iam.CreateOpenIDConnectProviderOutput, error) {
	url, secure := strings.CutPrefix(deref(in.Url), "https://")
	if !secure || url == "" {
		return nil, fail("ValidationError", "Invalid Open ID Connect Provider URL")
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	if len(in.ClientIDList) > maxClientIDs {
		return nil, conflict("LimitExceeded", "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", maxClientIDs)
	}
	tags := tagsOfIAM(in.Tags)
	if err := checkTags(tags); err != nil {
		return nil, err
	}
	arn := c.providerARN(*in.Url)
	if c.iam.providers[arn] != nil {
		return nil, conflict("EntityAlreadyExists", "Provider with url %s already exists.", *in.Url)
	}
	c.iam.providers[arn] = &oidcProvider{
		url: url, clientIDs: in.ClientIDList, thumbprints: in.ThumbprintList, created: c.now(), tags: tags,
	}
	return &iam.CreateOpenIDConnectProviderOutput{OpenIDConnectProviderArn: &arn, Tags: iamTags(tags)}, nil
}

func (c *Cloud) getProvider(_ *call, in *iam.GetOpenIDConnectProviderInput) (*iam.GetOpenIDConnectProviderOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	return &iam.GetOpenIDConnectProviderOutput{
		Url: &p.url, ClientIDList: p.clientIDs, ThumbprintList: p.thumbprints, CreateDate: &p.created, Tags: iamTags(p.tags),
	}, nil
}

func (c *Cloud) listProviders(*call, *iam.ListOpenIDConnectProvidersInput) (*iam.ListOpenIDConnectProvidersOutput, error) {
	out := &iam.ListOpenIDConnectProvidersOutput{OpenIDConnectProviderList: []types.OpenIDConnectProviderListEntry{}}
	for _, arn := range sortedKeys(c.iam.providers) {
		out.OpenIDConnectProviderList = append(out.OpenIDConnectProviderList, types.OpenIDConnectProviderListEntry{Arn: aws.String(arn)})
	}
	return out, nil
}

// deleteProvider is no error for one that does not exist, as in AWS it is not.
func (c *Cloud) deleteProvider(_ *call, in *iam.DeleteOpenIDConnectProviderInput) (*iam.DeleteOpenIDConnectProviderOutput, error) {
	delete(c.iam.providers, deref(in.OpenIDConnectProviderArn))
	return &iam.DeleteOpenIDConnectProviderOutput{}, nil
}

func (c *Cloud) updateThumbprint(_ *call, in *iam.UpdateOpenIDConnectProviderThumbprintInput) (*iam.UpdateOpenIDConnectProviderThumbprintOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	if err := checkThumbprints(in.ThumbprintList); err != nil {
		return nil, err
	}
	p.thumbprints = in.ThumbprintList
	return &iam.UpdateOpenIDConnectProviderThumbprintOutput{}, nil
}

func (c *Cloud) addClientID(_ *call, in *iam.AddClientIDToOpenIDConnectProviderInput) (*iam.AddClientIDToOpenIDConnectProviderOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(p.clientIDs, deref(in.ClientID)) {
		p.clientIDs = append(p.clientIDs, deref(in.ClientID))
	}
	return &iam.AddClientIDToOpenIDConnectProviderOutput{}, nil
}

func (c *Cloud) removeClientID(_ *call, in *iam.RemoveClientIDFromOpenIDConnectProviderInput) (*iam.RemoveClientIDFromOpenIDConnectProviderOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	p.clientIDs = slices.DeleteFunc(p.clientIDs, func(id string) bool { return id == deref(in.ClientID) })
	return &iam.RemoveClientIDFromOpenIDConnectProviderOutput{}, nil
}

func (c *Cloud) tagProvider(_ *call, in *iam.TagOpenIDConnectProviderInput) (*iam.TagOpenIDConnectProviderOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	return &iam.TagOpenIDConnectProviderOutput{}, retag(p.tags, tagsOfIAM(in.Tags), nil)
}

func (c *Cloud) untagProvider(_ *call, in *iam.UntagOpenIDConnectProviderInput) (*iam.UntagOpenIDConnectProviderOutput, error) {
	p, err := c.findProvider(in.OpenIDConnectProviderArn)
	if err != nil {
		return nil, err
	}
	return &iam.UntagOpenIDConnectProviderOutput{}, retag(p.tags, nil, in.TagKeys)
}
