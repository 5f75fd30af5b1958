package platform

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	packhorseaws "github.com/packhorse-io/terraform-provider-packhorse/internal/aws"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/assets"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// agentsProfile stands for the default instance profile in the agent's settings, which the
// provider does not know. It does not matter for the market.
const agentsProfile = "the agent's default"

// stockTimeout is the time limit for reading a region's instance types and prices.
const stockTimeout = 3 * time.Minute

// Stock reads from AWS what the cluster can buy.
func (p *platform) Stock(ctx context.Context, nodes offer.NodeOptions) (*session.Stock, error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		if p.config.NamesAWS() {
			err = wrongAccess(err)
		}
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stockTimeout)
	defer cancel()
	options := packhorseaws.Options{ClusterName: p.config.ClusterName, DefaultInstanceProfile: agentsProfile, NodeOptions: nodes}
	cloud, err := packhorseaws.New(ctx, cfg, options)
	if err != nil {
		return nil, err
	}
	cloud.ReadPrices(ctx)
	catalogue, err := cloud.Catalogue(ctx)
	if err != nil {
		return nil, err
	}
	return &session.Stock{Market: cloud, Catalogue: catalogue, Region: cfg.Region, Live: true}, nil
}

// Token mints a token for the cluster.
func (p *platform) Token(ctx context.Context) (token string, expires time.Time, err error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	tokens := eksauth.NewTokens(sts.NewFromConfig(cfg), p.config.ClusterName)
	token, err = tokens.Token(ctx)
	return token, tokens.Expires(), err
}

// Discover finds what can be imported from the cluster.
func (p *platform) Discover(ctx context.Context) (*onboard.Found, error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	access, _, err := p.restConfig(ctx)
	if err != nil {
		return nil, wrongAccess(err)
	}
	access.QPS, access.UserAgent = unlimited, userAgent
	cluster, err := survey.NewCluster(access)
	if err != nil {
		return nil, err
	}
	return onboard.Find(ctx, p.config.ClusterName, cluster, assets.New(cfg))
}

// Facts describes the cluster as EKS does. The cluster need not be active yet.
func (p *platform) Facts(ctx context.Context) (*asset.Cluster, error) {
	cfg, err := p.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	found, err := eksauth.Describe(ctx, eks.NewFromConfig(cfg), p.config.ClusterName)
	return found, wrongAccess(err)
}
