package podrole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// ownerTag names the role for which an OIDC provider was created, and with which it is
// deleted.
const ownerTag = "packhorse.io/irsa-role"

// providerWait is how long to wait for an OIDC provider that is being created for another
// role: Terraform creates resources concurrently, and IAM takes seconds to become consistent.
const providerWait = 10 * time.Second

// EnsureProvider makes sure that IAM has an OIDC provider for the issuer, and reports whether
// it has created it. An existing provider stays as it is. If there is none, it is created
// with the tags and belongs to the role named owner. If owner is empty, EnsureProvider
// creates none; it waits up to 10 seconds for one to appear, and returns fs.ErrNotExist if
// none does.
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

// DeleteProvider deletes the OIDC provider if it was created for the role named owner.
func (r *Roles) DeleteProvider(ctx context.Context, arn, owner string) error {
	known, createdFor, err := r.provider(ctx, arn)
	if err != nil || !known || createdFor != owner {
		return err
	}
	err = call.Eventually(ctx, nil, func(ctx context.Context) error {
		_, err := r.client.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
		return call.IgnoreMissing(err)
	})
	if err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	return nil
}

// provider reports whether IAM has the OIDC provider, and for which role it was created.
func (r *Roles) provider(ctx context.Context, arn string) (known bool, owner string, err error) {
	ctx, cancel := context.WithTimeout(ctx, call.ReadTimeout)
	defer cancel()
	out, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if call.IsMissing(err) {
		return false, "", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	return true, call.TagMap(out.Tags)[ownerTag], nil
}
