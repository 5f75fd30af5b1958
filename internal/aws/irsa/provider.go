package irsa

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/policy"
)

// HasProvider reports whether IAM knows the OIDC provider.
func (r *Roles) HasProvider(ctx context.Context, arn string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	_, err := r.client.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
	if code(err) == codeMissing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read OIDC provider %s: %w", arn, err)
	}
	return true, nil
}

// CreateProvider makes IAM trust the tokens of the issuer. It reports whether it
// was this call that did: a provider that is there already is fine.
func (r *Roles) CreateProvider(ctx context.Context, issuer string, tags map[string]string) (created bool, err error) {
	// No thumbprints: IAM verifies the issuer's certificate by its own store.
	err = untilConsistent(ctx, nil, func(ctx context.Context) error {
		_, err := r.client.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
			Url: aws.String(issuer), ClientIDList: []string{policy.Audience}, Tags: tagList(tags),
		})
		return err
	})
	if code(err) == codeExists {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create OIDC provider for %s: %w", issuer, err)
	}
	return true, nil
}

// DeleteProvider deletes the OIDC provider; one that is gone already is fine.
func (r *Roles) DeleteProvider(ctx context.Context, arn string) error {
	err := untilConsistent(ctx, nil, func(ctx context.Context) error {
		_, err := r.client.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(arn)})
		return gone(err)
	})
	if err != nil {
		return fmt.Errorf("delete OIDC provider %s: %w", arn, err)
	}
	return nil
}

// explain says which part of a change an error belongs to.
func explain(operation string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: IAM has not become consistent in time: %w", operation, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
