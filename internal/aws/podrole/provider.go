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
// it has created it. An existing provider stays as it is, and is an error if it refuses the
// tokens of pods because of their audience. If there is none, it is created with the tags for the
// role named owner. If owner is empty, EnsureProvider creates none; it waits up to 10 seconds for
// one to appear, and returns fs.ErrNotExist if none does.
func (r *Roles) EnsureProvider(ctx context.Context, issuer, arn, owner string, tags map[string]string) (created bool, err error) {
	if owner == "" {
		return false, r.awaitProvider(ctx, issuer, arn)
	}
	known, err := r.provider(ctx, arn)
	if err != nil {
		return false, err
	}
	if known != nil {
		return false, checkAudience(arn, known)
	}
	all := maps.Collect(maps.All(tags)) // never nil
	all[ownerTag] = owner
	// No thumbprints: IAM verifies the issuer's certificate by its own store.
	err = call.Change(ctx, nil, r.client.CreateOpenIDConnectProvider, &iam.CreateOpenIDConnectProviderInput{
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
		known, err := r.provider(ctx, arn)
		if err != nil {
			return err
		}
		if known == nil {
			return fmt.Errorf("find the OIDC provider for %s: %w", issuer, fs.ErrNotExist)
		}
		return checkAudience(arn, known)
	})
}

// checkAudience returns an error if IAM would refuse the tokens of pods, which are for policy.Audience.
func checkAudience(arn string, provider *iam.GetOpenIDConnectProviderOutput) error {
	if slices.Contains(provider.ClientIDList, policy.Audience) {
		return nil
	}
	return fmt.Errorf("OIDC provider %s refuses the tokens of pods: it lacks the audience %s, and has %q; add it to the provider's client ids",
		arn, policy.Audience, provider.ClientIDList)
}

// HasProvider reports whether IAM has the OIDC provider.
func (r *Roles) HasProvider(ctx context.Context, arn string) (bool, error) {
	known, err := r.provider(ctx, arn)
	return known != nil, err
}

// DeleteProvider deletes the OIDC provider if EnsureProvider has created it and no role trusts it but the named one,
// which is about to be deleted or trusts it no longer, and others that DeleteProvider was called for. If several
// roles are deleted at the same time, one of the calls deletes it. IAM may list the trust of all these roles for a while.
func (r *Roles) DeleteProvider(ctx context.Context, arn, role string) error {
	known, err := r.provider(ctx, arn)
	if err != nil || known == nil {
		return err
	}
	if _, ours := call.TagMap(known.Tags)[ownerTag]; !ours {
		return nil
	}
	r.distrust.Store(trust{arn, role}, true)
	roles, err := r.List(ctx)
	if err != nil {
		return fmt.Errorf("find the roles that trust OIDC provider %s: %w", arn, err)
	}
	if slices.ContainsFunc(roles, func(other asset.Role) bool {
		_, leaves := r.distrust.Load(trust{arn, other.Name})
		return !leaves && strings.Contains(other.Trust, `"`+arn+`"`)
	}) {
		return nil
	}
	err = call.Change(ctx, nil, r.client.DeleteOpenIDConnectProvider, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if err = call.IgnoreMissing(err); err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	return nil
}

// provider returns the OIDC provider, or nil if IAM has none.
func (r *Roles) provider(ctx context.Context, arn string) (*iam.GetOpenIDConnectProviderOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if call.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	return out, nil
}
