// Package cloud is a model of the AWS services that a cluster's node provisioning
// needs. Each service has a package of its own below it, over what they share in
// package account. It is one HTTP handler that speaks the real wire protocols to
// unmodified AWS clients, checks their signatures and permissions, and answers with
// AWS's own error codes.
//
// It is independent of the product: it imports none of its packages, so that a
// mistake made in one is not made in both.
package cloud

import (
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/autoscaling"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/eks"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/events"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/pricing"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sqs"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ssm"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/sts"
)

// Config is what a new Cloud starts with. Zero values get defaults.
type Config struct {
	Region    string           // default "eu-west-1"; its zones are a, b and c
	AccountID string           // default "123456789012"
	Catalogue []byte           // CSV of instance types, with a header row
	Cluster   account.Cluster  // what EKS DescribeCluster answers
	Now       func() time.Time // drives the life of instances; default time.Now
	Logger    hclog.Logger     // default none
	Seed      uint64           // for ids and injected randomness
}

// The types of the services that callers of Cloud name.
type (
	// Cluster is the one EKS cluster of the account.
	Cluster = account.Cluster
	// Behaviour is how long the account takes for what it does.
	Behaviour = account.Behaviour
	// Call is one request that was answered.
	Call = account.Call
	// Fault makes calls or purchases fail, or calls slow.
	Fault = account.Fault
	// Grant is a permission that a call made use of.
	Grant = account.Grant
	// Instance is the state of an EC2 instance.
	Instance = ec2.Instance
	// Event tells that an instance took a step in its life.
	Event = ec2.Event
	// EventKind is a step in an instance's life.
	EventKind = ec2.EventKind
	// Ledger is what the instances have cost so far.
	Ledger = ec2.Ledger
	// NodeGroup is a managed node group, which keeps no machines here.
	NodeGroup = eks.NodeGroup
	// ScalingGroup is an EC2 Auto Scaling group, which keeps no machines here.
	ScalingGroup = autoscaling.ScalingGroup
)

// The steps in an instance's life.
const (
	Launched   = ec2.Launched
	Stopping   = ec2.Stopping
	Terminated = ec2.Terminated
)

// Cloud is one AWS account in one region with all its services. It is safe for
// concurrent use.
type Cloud struct {
	*account.Account
	*ec2.EC2
	*iam.IAM
	*sts.STS
	*eks.EKS
	*sqs.SQS
	*events.Events
	*autoscaling.AutoScaling
}

// New makes an account with a network, images, an administrator, a node role
// and the cluster.
func New(config Config) (*Cloud, error) {
	config = config.withDefaults()
	a := account.New(account.Identity{Region: config.Region, AccountID: config.AccountID, Now: config.Now, Logger: config.Logger, Seed: config.Seed})
	c := &Cloud{Account: a, IAM: iam.New(a), SQS: sqs.New(a), AutoScaling: autoscaling.New(a)}
	c.STS, c.Events = sts.New(a, c.IAM), events.New(a, c.SQS)
	machines, err := ec2.New(a, c.IAM, c.Events, config.Catalogue)
	if err != nil {
		return nil, err
	}
	c.EC2, c.EKS = machines, eks.New(a, c.IAM, machines, c.AutoScaling)
	a.Serve(c.EC2.Service(), c.IAM.Service(), c.STS.Service(), c.EKS.Service(), c.SQS.Service(), c.Events.Service(),
		c.AutoScaling.Service(), ssm.New(a, machines.Images).Service(), pricing.New(a, machines.Catalogue).Service())
	c.setCluster(config.Cluster)
	return c, nil
}

func (config Config) withDefaults() Config {
	if config.Region == "" {
		config.Region = "eu-west-1"
	}
	if config.AccountID == "" {
		config.AccountID = "123456789012"
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = hclog.NewNullLogger()
	}
	return config
}

// SetCluster replaces what is known of the cluster. The network's tags and the
// images follow its name and version.
func (c *Cloud) SetCluster(cluster account.Cluster) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.setCluster(cluster)
}

func (c *Cloud) setCluster(cluster account.Cluster) {
	if cluster.Name == "" {
		cluster.Name = "packhorse"
	}
	if cluster.Version == "" {
		cluster.Version = "1.36"
	}
	c.STS.Issuer.Forget()
	c.EC2.SetCluster(cluster)
}
