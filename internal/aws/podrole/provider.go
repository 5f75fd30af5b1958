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
	"k8s.io/apimachinery/pkg/util/sets"

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

// EnsureProvider makes sure that IAM has the OIDC provider for a role, which is about to trust it, and reports whether
// Roles has created it, for this role or another: if both fail, the last one deletes it. An existing provider stays as it
// is, and is an error if it refuses the tokens of pods because of their audience. If there is none and it is not to be
// created, EnsureProvider waits up to 10 seconds for one to appear, and returns fs.ErrNotExist if none does.
func (r *Roles) EnsureProvider(ctx context.Context, role string, wanted asset.OIDCProvider) (created bool, err error) {
	start := time.Now()
	awaited := func(err error) bool {
		return (errors.Is(err, fs.ErrNotExist) || call.Code(err) == call.Exists) && time.Since(start) < providerWait
	}
	err = call.Eventually(ctx, awaited, func(ctx context.Context) error {
		created, err = r.ensure(ctx, role, wanted)
		return err
	})
	return created, err
}

// ensure is one attempt of EnsureProvider.
func (r *Roles) ensure(ctx context.Context, role string, wanted asset.OIDCProvider) (created bool, err error) {
	r.settling.Lock()
	defer r.settling.Unlock()
	known, err := r.provider(ctx, wanted.ARN)
	switch {
	case err != nil:
	case known != nil:
		err = checkAudience(wanted.ARN, known)
	case wanted.Create:
		err = r.createProvider(ctx, role, wanted)
	default:
		err = fmt.Errorf("find the OIDC provider for %s: %w", wanted.Issuer, fs.ErrNotExist)
	}
	if err == nil {
		r.trusts.Store(trust{wanted.ARN, role}, true)
		_, created = r.created.Load(wanted.ARN)
	}
	return created, err
}

// createProvider creates an OIDC provider. That it exists is an error: either somebody has created it since the look, and
// its audience has to be checked, or Roles has deleted it, and IAM does not know of the deletion yet.
func (r *Roles) createProvider(ctx context.Context, role string, wanted asset.OIDCProvider) error {
	tags := maps.Collect(maps.All(wanted.Tags)) // never nil
	tags[ownerTag] = role
	// No thumbprints: IAM verifies the issuer's certificate by its own store.
	err := call.Change(ctx, nil, r.client.CreateOpenIDConnectProvider, &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(wanted.Issuer), ClientIDList: []string{policy.Audience}, Tags: call.TagList(tags),
	})
	if err != nil {
		return fmt.Errorf("create OIDC provider for %s: %w", wanted.Issuer, err)
	}
	r.deleted.Delete(wanted.ARN)
	r.created.Store(wanted.ARN, true)
	return nil
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
	r.trusts.Store(trust{arn, role}, false)
	known, err := r.provider(ctx, arn)
	if err != nil || known == nil {
		return err
	}
	if _, ours := call.TagMap(known.Tags)[ownerTag]; !ours {
		return nil
	}
	roles, err := r.List(ctx)
	if err != nil {
		return fmt.Errorf("find the roles that trust OIDC provider %s: %w", arn, err)
	}
	r.settling.Lock()
	defer r.settling.Unlock()
	if r.isTrusted(arn, roles) {
		return nil
	}
	err = call.Change(ctx, nil, r.client.DeleteOpenIDConnectProvider, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if err = call.IgnoreMissing(err); err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	r.created.Delete(arn)
	r.deleted.Store(arn, aws.ToTime(known.CreateDate))
	return nil
}

// isTrusted reports whether a role trusts the OIDC provider: one that is listed, unless Roles knows better, or one that
// Roles knows and that IAM does not list yet.
func (r *Roles) isTrusted(arn string, listed []asset.Role) bool {
	trusting := sets.New[string]()
	for _, role := range listed {
		if strings.Contains(role.Trust, `"`+arn+`"`) {
			trusting.Insert(role.Name)
		}
	}
	r.trusts.Range(func(key, trusts any) bool {
		switch known := key.(trust); {
		case known.provider != arn:
		case trusts.(bool):
			trusting.Insert(known.role)
		default:
			trusting.Delete(known.role)
		}
		return true
	})
	return len(trusting) > 0
}

// provider returns the OIDC provider, or nil if IAM has none. IAM returns one that was deleted for a while, which counts
// as missing if Roles has deleted it.
func (r *Roles) provider(ctx context.Context, arn string) (*iam.GetOpenIDConnectProviderOutput, error) {
	out, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if call.IsMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	if created, ok := r.deleted.Load(arn); ok && aws.ToTime(out.CreateDate).Equal(created.(time.Time)) {
		return nil, nil
	}
	return out, nil
}
