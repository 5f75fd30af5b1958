// Package platform wires the provider to the real world: the Kubernetes API of
// the cluster and the AWS account that a provider block names.
package platform

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/irsa"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// callTimeout bounds one call with its retries.
const callTimeout = time.Minute

// Connect prepares the platform of a provider block. Clients are built on first
// use, once.
func Connect(cfg session.Config) session.Platform {
	return &platform{config: cfg, settings: connect.Settings{
		Region:    cfg.AWS.Region,
		Profile:   cfg.AWS.Profile,
		Role:      (*connect.Role)(cfg.AWS.Assume),
		Endpoints: cfg.AWS.Endpoints,
	}}
}

type platform struct {
	config   session.Config
	settings connect.Settings

	aws     lazy[aws.Config]
	account lazy[*session.Account]
	cluster lazy[*cluster]
}

// Account returns the AWS account that the credentials belong to.
func (p *platform) Account(ctx context.Context) (*session.Account, error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	return p.account.get(func() (*session.Account, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		caller, err := p.sts(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return nil, fmt.Errorf("find the AWS account of the credentials: %w", err)
		}
		parts := strings.SplitN(aws.ToString(caller.Arn), ":", 3)
		if len(parts) < 3 {
			return nil, fmt.Errorf("find the AWS account of the credentials: %q is no ARN", aws.ToString(caller.Arn))
		}
		roles := irsa.NewRoles(iam.NewFromConfig(cfg, func(o *iam.Options) { o.BaseEndpoint = p.endpoint("iam", o.BaseEndpoint) }))
		return &session.Account{
			Partition: parts[1],
			ID:        aws.ToString(caller.Account),
			Region:    cfg.Region,
			Roles:     accountRoles{roles},
			Issuers:   issuers{roles, func(ctx context.Context, name string) (*eksauth.Cluster, error) { return p.find(ctx, cfg, name) }},
		}, nil
	})
}

func (p *platform) awsConfig(ctx context.Context) (aws.Config, error) {
	return p.aws.get(func() (aws.Config, error) { return connect.Load(ctx, p.settings) })
}

func (p *platform) sts(cfg aws.Config) *sts.Client {
	return sts.NewFromConfig(cfg, func(o *sts.Options) { o.BaseEndpoint = p.endpoint("sts", o.BaseEndpoint) })
}

// find looks an EKS cluster up by its name.
func (p *platform) find(ctx context.Context, cfg aws.Config, name string) (*eksauth.Cluster, error) {
	client := eks.NewFromConfig(cfg, func(o *eks.Options) { o.BaseEndpoint = p.endpoint("eks", o.BaseEndpoint) })
	return eksauth.Find(ctx, client, name)
}

// endpoint prefers the provider block's endpoint to what the SDK has found in
// the environment.
func (p *platform) endpoint(service string, found *string) *string {
	if own := p.settings.Endpoint(service); own != nil {
		return own
	}
	return found
}

// accountRoles are the IAM roles of the account.
type accountRoles struct{ roles *irsa.Roles }

func (r accountRoles) Create(ctx context.Context, role session.Role) (arn string, err error) {
	return r.roles.Create(ctx, irsa.Role(role))
}

func (r accountRoles) Read(ctx context.Context, name string) (role session.Role, arn string, err error) {
	live, arn, err := r.roles.Read(ctx, name)
	return session.Role(live), arn, err
}

func (r accountRoles) Update(ctx context.Context, before, now session.Role) error {
	return r.roles.Update(ctx, irsa.Role(before), irsa.Role(now))
}

func (r accountRoles) Delete(ctx context.Context, role session.Role) error {
	return r.roles.Delete(ctx, irsa.Role(role))
}

// issuers are the OIDC issuers of clusters.
type issuers struct {
	*irsa.Roles
	find func(context.Context, string) (*eksauth.Cluster, error)
}

func (i issuers) Of(ctx context.Context, name string) (url string, err error) {
	found, err := i.find(ctx, name)
	if err != nil {
		return "", err
	}
	if found.Issuer == "" {
		return "", fmt.Errorf("cluster %q has no OIDC issuer", name)
	}
	return found.Issuer, nil
}
