// Package aws buys machines from EC2: it lists what there is at which price,
// launches fleets of what was ordered, and takes away what is no longer needed.
// Types of the AWS SDK do not leave it.
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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/client"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/lookup"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/stock"
)

// Options describe the cluster that machines are bought for, and the
// installation's settings. Only ClusterName is required.
type Options struct {
	ClusterName string
	// ClusterEndpoint is the URL of the API server for machines; that of EKS if empty.
	ClusterEndpoint string

	// DefaultInstanceProfile is given to machines whose node profile names none.
	DefaultInstanceProfile string
	// Tags are put on everything that is created.
	Tags map[string]string

	// VMMemoryOverheadPercent is the share of memory that the hypervisor keeps, from
	// 0 to less than 100, until nodes have shown it; nil
	// means offer.DefaultMemoryOverheadPercent.
	VMMemoryOverheadPercent *float64
	// IgnoreENIs, ReservedENIs, PrefixDelegation, PodENI and EFA are as in
	// offer.Settings.
	IgnoreENIs       bool
	ReservedENIs     int64
	PrefixDelegation bool
	PodENI           bool
	EFA              bool
	// NoPricing: on-demand prices are those of the embedded table, for networks
	// from which the Pricing API cannot be reached.
	NoPricing bool

	Now func() time.Time // nil: time.Now
}

// Cloud is an AWS account's region as a place to buy machines. It is safe for
// concurrent use.
type Cloud struct {
	options Options
	region  string
	now     func() time.Time

	// listings slow down by themselves when EC2 throttles: they come again every
	// minute, and are long in a large account. reads and writes are few, and pods
	// wait for them: they must not wait behind the listings, nor be slowed down to
	// one in two seconds, which is what an adaptive client comes to.
	listings      *client.EC2
	reads, writes *client.EC2

	cluster      *clusterFacts
	network      *lookup.Network
	roles        *lookup.Roles
	images       *lookup.Images
	stock        *stock.Stock
	shortages    *shortages
	reservations *lookup.Reservations
	learnt       *learnt
	templates    *templates
	markets      *markets
}

// LoadConfig returns the configuration that New takes: credentials by the SDK's
// default chain (in a cluster: IRSA or EKS Pod Identity, the token read again
// when it rotates) and endpoints from AWS_ENDPOINT_URL*. An empty region means
// the environment's.
func LoadConfig(ctx context.Context, region string) (awssdk.Config, error) {
	return connect.Load(ctx, connect.Settings{Region: region})
}

// New returns the cloud of the configuration's region. It asks EKS about the cluster.
func New(ctx context.Context, cfg awssdk.Config, o Options) (*Cloud, error) {
	if o.ClusterName == "" {
		return nil, errors.New("set up AWS: the cluster's name is missing")
	}
	if p := o.VMMemoryOverheadPercent; p != nil && (*p < 0 || *p >= 100) {
		return nil, fmt.Errorf("set up AWS: a memory overhead of %v percent is not from 0 to less than 100", *p)
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
	cluster := newClusterFacts(eks.NewFromConfig(cfg), o)
	if _, err := cluster.get(ctx); err != nil {
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
		learnt:       newLearnt(),
		templates:    newTemplates(listings, writes, o),
		markets:      newMarkets(),
	}, nil
}
