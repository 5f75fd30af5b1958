package podrole

import (
	"context"
	"fmt"
	"io/fs"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// ownerTag names the role that has made an OIDC provider and deletes it again.
const ownerTag = "packhorse.io/irsa-role"

// EnsureProvider makes IAM trust the tokens of the issuer. A provider that is
// there already is used as it is; without one, it is made for the owning role,
// or fs.ErrNotExist is returned if there is to be no owner. It reports whether it
// was this call that made the provider.
func (r *Roles) EnsureProvider(ctx context.Context, issuer, arn, owner string, tags map[string]string) (created bool, err error) {
	known, _, err := r.provider(ctx, arn)
	switch {
	case err != nil || known:
		return false, err
	case owner == "":
		return false, fmt.Errorf("trust %s: %w", issuer, fs.ErrNotExist)
	}
	all := maps.Clone(tags)
	if all == nil {
		all = map[string]string{}
	}
	all[ownerTag] = owner
	// No thumbprints: IAM verifies the issuer's certificate by its own store.
	err = call.Eventually(ctx, nil, func(ctx context.Context) error {
		_, err := r.client.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
			Url: aws.String(issuer), ClientIDList: []string{policy.Audience}, Tags: call.TagList(all),
		})
		return err
	})
	if err != nil && call.Code(err) != call.Exists {
		return false, fmt.Errorf("create OIDC provider for %s: %w", issuer, err)
	}
	return err == nil, nil
}

// DeleteProvider deletes the OIDC provider if the role has made it.
func (r *Roles) DeleteProvider(ctx context.Context, arn, owner string) error {
	known, madeBy, err := r.provider(ctx, arn)
	if err != nil || !known || madeBy != owner {
		return err
	}
	err = call.Eventually(ctx, nil, func(ctx context.Context) error {
		_, err := r.client.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
		return call.Gone(err)
	})
	if err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	return nil
}

// provider reports whether IAM knows the OIDC provider, and which role made it.
func (r *Roles) provider(ctx context.Context, arn string) (known bool, owner string, err error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if call.Code(err) == call.Missing {
		return false, "", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	return true, call.TagMap(out.Tags)[ownerTag], nil
}
