// Package connect loads AWS configurations: credentials from the SDK's default chain, a
// role that is assumed with them, and custom endpoints.
package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
)

// Retries of one call. Clients may set their own.
const (
	maxAttempts = 6
	maxBackoff  = 10 * time.Second
)

// Settings say how AWS is reached. What is not set comes from the environment and from
// the shared configuration files, as in the AWS CLI.
type Settings struct {
	Region  string
	Profile string
	Role    *Role
	// Endpoints are URLs by service (eks, iam, sts, …). They take precedence over
	// AWS_ENDPOINT_URL_<SERVICE> and AWS_ENDPOINT_URL.
	Endpoints map[string]string
}

// Role is an IAM role to assume. Only ARN is required.
type Role struct {
	ARN         string
	SessionName string // default: terraform-provider-packhorse
	ExternalID  string
	Duration    time.Duration // of the session; default: 15 minutes, as the SDK has it
}

// Load returns the configuration. It makes no request that needs credentials. It is an
// error if no region is configured.
func Load(ctx context.Context, s Settings) (aws.Config, error) {
	exchange := &memoryBodies{} // its client is known once the rest is loaded
	cfg, err := config.LoadDefaultConfig(ctx, s.options(exchange)...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("load AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("load AWS configuration: no region: set `region` or AWS_REGION")
	}
	cfg.ServiceOptions = append(cfg.ServiceOptions, s.useEndpoint)
	cfg.HTTPClient = WithMemoryBodies(cfg.HTTPClient)
	exchange.client = cfg.HTTPClient
	cfg.APIOptions = append(cfg.APIOptions, refuseEmptyAnswers, refuseForeignAnswers)
	if s.Role != nil {
		cfg.Credentials = aws.NewCredentialsCache(s.assumeRole(cfg), replaceEarly)
	}
	return cfg, nil
}

// options are those that hold also for the calls by which the SDK gets credentials. It makes these without the deadline
// of the call that waits for them, and once for all that do.
func (s Settings) options(exchange aws.HTTPClient) []func(*config.LoadOptions) error {
	return []func(*config.LoadOptions) error{
		config.WithRegion(s.Region),
		config.WithSharedConfigProfile(s.Profile),
		config.WithHTTPClient(newClient()),
		config.WithRetryer(newRetryer),
		config.WithCredentialsCacheOptions(replaceEarly),
		config.WithAPIOptions([]func(*middleware.Stack) error{limitCalls}),
		config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) { s.useSTSEndpoint(o, exchange) }),
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) {
			o.HTTPClient = newClient().WithTransportOptions(leaveProxy)
		}),
	}
}

// replaceEarly has credentials replaced five minutes before they expire, as the SDK does with those of EKS Pod Identity.
// It uses others until the last second, although AWS refuses them earlier if the clock is behind.
func replaceEarly(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute }

func (s Settings) assumeRole(cfg aws.Config) aws.CredentialsProvider {
	client := sts.NewFromConfig(cfg)
	return stscreds.NewAssumeRoleProvider(client, s.Role.ARN, func(o *stscreds.AssumeRoleOptions) {
		o.RoleSessionName = cmp.Or(s.Role.SessionName, "terraform-provider-packhorse")
		if s.Role.ExternalID != "" {
			o.ExternalID = aws.String(s.Role.ExternalID)
		}
		if s.Role.Duration > 0 {
			o.Duration = s.Role.Duration
		}
	})
}

// useSTSEndpoint sets the endpoint at which the credential chain exchanges a web identity
// token. The SDK does not apply AWS_ENDPOINT_URL there.
func (s Settings) useSTSEndpoint(o *stscreds.WebIdentityRoleOptions, client aws.HTTPClient) {
	url := cmp.Or(s.Endpoints["sts"], os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL"))
	if url == "" {
		return
	}
	region := cmp.Or(s.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"))
	o.Client = sts.New(sts.Options{
		Region: region, BaseEndpoint: aws.String(url), Retryer: newRetryer(), HTTPClient: client,
		APIOptions: []func(*middleware.Stack) error{limitCalls},
	})
}

// leaveProxy keeps requests without TLS from the proxy. Those for credentials go to an address of the own node, such as
// that of EKS Pod Identity, which a proxy cannot reach, and have a token that it must not see.
func leaveProxy(t *http.Transport) {
	proxy := t.Proxy
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme == "http" {
			return nil, nil
		}
		return proxy(r)
	}
}

// limitCalls gives each read, and each call whose caller has set no deadline, the time limit of a read, including its
// retries. The SDK has none: it would wait for ever for an endpoint that accepts connections and never answers.
func limitCalls(stack *middleware.Stack) error {
	outermost := stack.Initialize //nolint:misspell // the name of the SDK
	return outermost.Add(middleware.InitializeMiddlewareFunc("LimitCalls", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		if _, ok := ctx.Deadline(); !ok || reads.MatchString(middleware.GetOperationName(ctx)) {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, call.ReadTimeout)
			defer cancel()
		}
		return next.HandleInitialize(ctx, in)
	}), middleware.Before)
}

// reads are the names of operations that change nothing.
var reads = regexp.MustCompile("^(Describe|Get|List)")

func newRetryer() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = maxAttempts
		o.MaxBackoff = maxBackoff
	})
}
