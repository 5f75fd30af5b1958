package podrole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// ownerTag marks an OIDC provider that was created for a role, which it names. Other
// providers are never deleted.
const ownerTag = "packhorse.io/irsa-role"

// providerWait is how long to wait for an OIDC provider that is being created for another
// role: Terraform creates resources concurrently, and IAM takes seconds to become consistent.
const providerWait = 10 * time.Second

// EnsureProvider makes sure that IAM has an OIDC provider for the issuer, and reports whether
// it has created it. An existing provider stays as it is. If there is none, it is created
// with the tags for the role named owner. If owner is empty, EnsureProvider creates none;
// it waits up to 10 seconds for one to appear, and returns fs.ErrNotExist if none does.
func (r *Roles) EnsureProvider(ctx context.Context, issuer, arn, owner string, tags map[string]string) (created bool, err error) {
	if owner == "" {
		return false, r.awaitProvider(ctx, issuer, arn)
	}
	known, _, err := r.provider(ctx, arn)
	if err != nil || known {
		return false, err
	}
	all := maps.Clone(tags)
	if all == nil {
		all = map[string]string{}
	}
	all[ownerTag] = owner
	// No thumbprints: IAM verifies the issuer's certificate by its own store.
	_, err = call.Invoke(ctx, nil, r.client.CreateOpenIDConnectProvider, &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(issuer), ClientIDList: []string{policy.Audience}, Tags: call.TagList(all),
	})
	if err != nil && call.Code(err) != call.Exists {
		return false, fmt.Errorf("create OIDC provider for %s: %w", issuer, err)
	}
	return err == nil, nil
}

func (r *Roles) awaitProvider(ctx context.Context, issuer, arn string) error {
	start := time.Now()
	awaited := func(err error) bool { return errors.Is(err, fs.ErrNotExist) && time.Since(start) < providerWait }
	return call.Eventually(ctx, awaited, func(ctx context.Context) error {
		known, _, err := r.provider(ctx, arn)
		if err == nil && !known {
			return fmt.Errorf("find the OIDC provider for %s: %w", issuer, fs.ErrNotExist)
		}
		return err
	})
}

// HasProvider reports whether IAM has the OIDC provider.
func (r *Roles) HasProvider(ctx context.Context, arn string) (bool, error) {
	known, _, err := r.provider(ctx, arn)
	return known, err
}

// DeleteProvider deletes the OIDC provider if EnsureProvider has created it and no role
// trusts it but the named one, whose trust IAM may still list after it has gone.
func (r *Roles) DeleteProvider(ctx context.Context, arn, role string) error {
	_, ours, err := r.provider(ctx, arn)
	if err != nil || !ours {
		return err
	}
	roles, err := r.List(ctx)
	if err != nil {
		return fmt.Errorf("find the roles that trust OIDC provider %s: %w", arn, err)
	}
	if slices.ContainsFunc(roles, func(other asset.Role) bool { return other.Name != role && strings.Contains(other.Trust, `"`+arn+`"`) }) {
		return nil
	}
	_, err = call.Invoke(ctx, nil, r.client.DeleteOpenIDConnectProvider, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if err = call.IgnoreMissing(err); err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	return nil
}

// provider reports whether IAM has the OIDC provider, and whether EnsureProvider has created it.
func (r *Roles) provider(ctx context.Context, arn string) (known, ours bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if call.IsMissing(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	_, ours = call.TagMap(out.Tags)[ownerTag]
	return true, ours, nil
}
