// Package connect loads AWS configurations: credentials by the usual chain, a
// role on top of them, and endpoints of the user's own.
package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// maxAttempts and maxBackoff bound how long one call is retried.
const (
	maxAttempts = 6
	maxBackoff  = 10 * time.Second
)

// Settings say how AWS is reached. The zero value is the environment's choice.
type Settings struct {
	Region  string
	Profile string
	Role    *Role
	// Endpoints by service (eks, iam, sts, …), before AWS_ENDPOINT_URL_SERVICE
	// and AWS_ENDPOINT_URL.
	Endpoints map[string]string
}

// Role is assumed with the credentials of the chain.
type Role struct {
	ARN         string
	SessionName string
	ExternalID  string
	Duration    time.Duration // zero means an hour
}

// Load returns the configuration. It makes no call that needs credentials.
func Load(ctx context.Context, s Settings) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithRegion(s.Region),
		config.WithSharedConfigProfile(s.Profile),
		config.WithRetryer(newRetryer),
		config.WithWebIdentityRoleCredentialOptions(s.useSTSEndpoint),
	)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("load AWS configuration: no region: set `region` or AWS_REGION")
	}
	cfg.ServiceOptions = append(cfg.ServiceOptions, s.useEndpoint)
	cfg.HTTPClient = WithMemoryBodies(cfg.HTTPClient)
	cfg.APIOptions = append(cfg.APIOptions, refuseEmptyAnswers, refuseForeignAnswers)
	if s.Role != nil {
		cfg.Credentials = aws.NewCredentialsCache(s.assumeRole(cfg))
	}
	return cfg, nil
}

func (s Settings) assumeRole(cfg aws.Config) aws.CredentialsProvider {
	client := sts.NewFromConfig(cfg)
	return stscreds.NewAssumeRoleProvider(client, s.Role.ARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = "terraform-provider-packhorse"
		if s.Role.SessionName != "" {
			o.RoleSessionName = s.Role.SessionName
		}
		if s.Role.ExternalID != "" {
			o.ExternalID = aws.String(s.Role.ExternalID)
		}
		if s.Role.Duration > 0 {
			o.Duration = s.Role.Duration
		}
	})
}

// useSTSEndpoint gives the web identity step of the chain the same endpoint as
// every other call: it does not follow AWS_ENDPOINT_URL by itself.
func (s Settings) useSTSEndpoint(o *stscreds.WebIdentityRoleOptions) {
	for _, url := range []string{s.Endpoints["sts"], os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL")} {
		if url == "" {
			continue
		}
		region := s.Region
		for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
			if region == "" {
				region = os.Getenv(name)
			}
		}
		o.Client = sts.New(sts.Options{Region: region, BaseEndpoint: aws.String(url), Retryer: newRetryer(), HTTPClient: WithMemoryBodies(nil)})
		return
	}
}

func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.MaxBackoff = maxBackoff
	})
}
