// Package platform connects the provider with the adapters: the Kubernetes API of the cluster and
// the AWS account that a provider block names.
package platform

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// callTimeout is the time limit of one call, including its retries.
const callTimeout = time.Minute

// Connect returns the platform of a provider block. It makes no request; clients are created on
// first use.
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
		return nil, wrongAccess(err)
	}
	account, err := p.account.get(ctx, func() (*session.Account, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		caller, err := sts.NewFromConfig(cfg).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return nil, fmt.Errorf("find the AWS account of the credentials: %w", err)
		}
		parts := strings.SplitN(aws.ToString(caller.Arn), ":", 3)
		if len(parts) < 3 {
			return nil, fmt.Errorf("find the AWS account of the credentials: %q is not an ARN", aws.ToString(caller.Arn))
		}
		return p.newAccount(cfg, parts[1], aws.ToString(caller.Account)), nil
	})
	return account, wrongAccess(err)
}

func (p *platform) awsConfig(ctx context.Context) (aws.Config, error) {
	return p.aws.get(ctx, func() (aws.Config, error) { return connect.Load(ctx, p.settings) })
}

// Region returns the region of all calls. It makes no request.
func (p *platform) Region(ctx context.Context) (string, error) {
	cfg, err := p.awsConfig(ctx)
	return cfg.Region, err
}
