// Package aws buys machines from EC2. It lists instance types with prices and stock, launches
// machines with EC2 Fleet, and terminates them. Except for configurations, types of the AWS
// SDK do not leave it.
package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/learnt"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/stock"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Options describe the cluster that machines are bought for, and the
// installation's settings. Only ClusterName is required.
type Options struct {
	ClusterName string
	// ClusterEndpoint is the URL at which machines reach the API server. Default: the
	// endpoint that EKS reports.
	ClusterEndpoint string

	// DefaultInstanceProfile is for machines whose node profile names none.
	DefaultInstanceProfile string
	// Tags are set on all resources that are created in AWS.
	Tags map[string]string

	offer.NodeOptions
	// NoPricing takes on-demand prices from the embedded table, for networks that cannot
	// reach the Pricing API.
	NoPricing bool

	// Unreached, if set, is called if EKS or STS fails, or does not answer soon, when New asks for
	// the cluster. New goes on then, and markets ask again. Otherwise that is an error of New.
	Unreached func(err error)
	// Accept, if set, returns an error unless the cluster that EKS describes is the one that is meant. Nothing is
	// claimed, taken over or bought before it has accepted it.
	Accept func(ctx context.Context, c *asset.Cluster) error

	Now func() time.Time // default: time.Now
}

// Cloud buys machines in one region of an AWS account. It is safe for concurrent use.
type Cloud struct {
	options Options
	region  string
	now     func() time.Time

	// listings reads long lists every minute and slows down when EC2 throttles it. Pods wait
	// for the few requests of reads and writes. They are clients of their own, so that they
	// do not wait behind the listings and are not slowed down with them, to as little as a
	// request in two seconds.
	listings      *client.EC2
	reads, writes *client.EC2

	cluster      *lookup.Cluster
	network      *lookup.Network
	roles        *lookup.Roles
	images       *lookup.Images
	stock        *stock.Stock
	shortages    *shortages
	reservations *lookup.Reservations
	learnt       *learnt.Store
	templates    *templates
	markets      *markets
	absences     *absences // of instances to be terminated
	fruitless    *absences // of machines bought under launch ids that others have used
}

// LoadConfig returns the configuration for New. Credentials come from the SDK's default
// chain, which is IRSA or EKS Pod Identity in a cluster, and endpoints from
// AWS_ENDPOINT_URL*. An empty region means that of the environment.
func LoadConfig(ctx context.Context, region string) (awssdk.Config, error) {
	return connect.Load(ctx, connect.Settings{Region: region})
}

// New returns the cloud of the configuration's region. It asks EKS for the cluster and returns
// an error if there is none, or if the request is denied.
func New(ctx context.Context, cfg awssdk.Config, o Options) (*Cloud, error) {
	if o.ClusterName == "" {
		return nil, errors.New("set up AWS: the cluster's name is missing")
	}
	if p := o.MemoryOverheadPercent; p != nil && (*p < 0 || *p >= 100) {
		return nil, fmt.Errorf("set up AWS: MemoryOverheadPercent is %v, but must be at least 0 and less than 100", *p)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	listings := client.NewEC2(cfg, func(o *ec2.Options) {
		o.Retryer = retry.NewAdaptiveMode(func(a *retry.AdaptiveModeOptions) {
			a.StandardOptions = append(a.StandardOptions, client.Retries)
		})
	})
	standard := func(o *ec2.Options) { o.Retryer = retry.NewStandard(client.Retries) }
	reads, writes := client.NewEC2(cfg, standard), client.NewEC2(cfg, standard)
	cluster := lookup.NewCluster(eks.NewFromConfig(cfg), o.ClusterName, o.ClusterEndpoint, o.Now)
	cluster.Accept = o.Accept
	if err := cluster.Reach(ctx, o.Unreached); err != nil {
		return nil, err
	}
	return &Cloud{
		options:      o,
		region:       cfg.Region,
		now:          o.Now,
		listings:     listings,
		reads:        reads,
		writes:       writes,
		cluster:      cluster,
		network:      lookup.NewNetwork(reads, o.Now),
		roles:        lookup.NewRoles(cfg, o.Now),
		images:       lookup.NewImages(reads, ssm.NewFromConfig(cfg).GetParameters, o.Now),
		stock:        stock.New(reads, cfg, !o.NoPricing, o.Now),
		shortages:    newShortages(o.Now),
		reservations: lookup.NewReservations(reads, o.Now),
		learnt:       learnt.New(),
		templates:    newTemplates(listings, writes, o),
		markets:      newMarkets(o.Now),
		absences:     newAbsences(),
		fruitless:    newAbsences(),
	}, nil
}
