// Package cloud is a model of the AWS services that a cluster's node
// provisioning needs: EC2, IAM, STS, EKS, SSM, Pricing, SQS and EventBridge. It is one HTTP
// handler that speaks the real wire protocols to unmodified AWS clients, checks
// their signatures and permissions, and answers with AWS's own error codes.
//
// It is independent of the product: it imports none of its packages, so that a
// mistake made in one is not made in both.
package cloud

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config is what a new Cloud starts with. Zero values get defaults.
type Config struct {
	Region    string           // default "eu-west-1"; its zones are a, b and c
	AccountID string           // default "123456789012"
	Catalogue []byte           // CSV of instance types, with a header row
	Cluster   Cluster          // what EKS DescribeCluster answers
	Now       func() time.Time // drives the life of instances; default time.Now
	Logger    hclog.Logger     // default none
	Seed      uint64           // for ids and injected randomness
}

// Cluster is the one EKS cluster of the account.
type Cluster struct {
	Name        string
	Version     string // Kubernetes minor version, "1.33"
	Endpoint    string // of the API server
	CA          []byte // PEM, of the API server
	IssuerURL   string // of ServiceAccount tokens
	IssuerCA    []byte // PEM, to fetch the issuer's keys; the system's roots if empty
	ServiceCIDR string
}

// Cloud is one AWS account in one region. It is safe for concurrent use.
type Cloud struct {
	region  string
	account string
	now     func() time.Time // of the modelled world
	wall    func() time.Time // of signatures and tokens, which clients make by their own clocks
	log     hclog.Logger

	mu        sync.Mutex // guards everything below
	random    *rand.Rand
	endpoint  string
	cluster   Cluster
	behaviour Behaviour

	catalogue *catalogue
	network   *network
	images    []*image
	published time.Time                  // by when the newest public images were there
	own       []*image                   // of the account
	templates map[string]*launchTemplate // by id
	machines  map[string]*machine        // by instance id
	fleets    map[string]fleetAnswer     // by client token
	capacity  *capacity
	retired   Ledger // of instances that are no longer listed
	prices    priceLists

	iam          *directory
	keys         map[string]*credential // by access key id
	admin        *credential
	entries      map[string]*accessEntry // by principal ARN
	grants       map[Grant]bool          // that were made use of
	associations map[string]*association // by id
	queues       map[string]*queue       // by name

	nodeGroups    map[string]NodeGroup    // by name
	scalingGroups map[string]ScalingGroup // by name
	rules         map[string]*rule        // by name

	services map[string]*service
	issuer   *issuerKeys
	faults   *faults
	throttle map[string]*bucket
	calls    []Call
	events   *eventQueue
}

// Behaviour is how the modelled account takes its time.
type Behaviour struct {
	PendingDelay      time.Duration // from launch to running
	ShuttingDownDelay time.Duration // from termination to terminated
	TerminatedVisible time.Duration // how long a terminated instance is still described
	ReadLag           time.Duration // until DescribeInstances shows a new instance
	IAMLag            time.Duration // until other calls know a new role, instance profile or inline policy
	SpotWarning       time.Duration // from the warning until a spot instance is taken back
	DuplicateEvents   bool          // every event comes twice
	SpotVolatility    float64       // share by which spot prices move from hour to hour; 0: they stand still
	SessionLifetime   time.Duration // of assumed roles at most, whatever was asked for; 0: no bound
}

func defaultBehaviour() Behaviour {
	return Behaviour{PendingDelay: time.Second, ShuttingDownDelay: 2 * time.Second, TerminatedVisible: time.Hour, SpotWarning: 2 * time.Minute}
}

// New makes an account with a network, images, an administrator, a node role
// and the cluster.
func New(config Config) (*Cloud, error) {
	config = config.withDefaults()
	parsed, err := parseCatalogue(config.Catalogue, config.Region)
	if err != nil {
		return nil, fmt.Errorf("read catalogue of instance types: %w", err)
	}
	c := &Cloud{
		region:       config.Region,
		account:      config.AccountID,
		now:          config.Now,
		wall:         time.Now,
		log:          config.Logger,
		random:       rand.New(rand.NewPCG(config.Seed, 0)),
		behaviour:    defaultBehaviour(),
		catalogue:    parsed,
		templates:    map[string]*launchTemplate{},
		machines:     map[string]*machine{},
		fleets:       map[string]fleetAnswer{},
		capacity:     newCapacity(config.Now),
		keys:         map[string]*credential{},
		entries:      map[string]*accessEntry{},
		grants:       map[Grant]bool{},
		associations: map[string]*association{},
		queues:       map[string]*queue{},

		nodeGroups:    map[string]NodeGroup{},
		scalingGroups: map[string]ScalingGroup{},
		rules:         map[string]*rule{},
		services:      newServices(),
		issuer:        &issuerKeys{},
		faults:        &faults{},
		throttle:      map[string]*bucket{},
		events:        &eventQueue{},
	}
	c.iam = newDirectory(c)
	c.admin = c.newUser("admin")
	c.entries[c.iamARN("role/"+defaultNodeRole)] = &accessEntry{
		principal: c.iamARN("role/" + defaultNodeRole), kind: "EC2_LINUX", username: "system:node:{{EC2PrivateDNSName}}",
		groups: []string{"system:nodes"}, created: c.now(), modified: c.now(),
	}
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

// SetEndpoint says under which base URL the Handler is served; it appears in
// the URLs of queues.
func (c *Cloud) SetEndpoint(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endpoint = url
}

// SetCluster replaces what is known of the cluster. The network's tags and the
// images follow its name and version.
func (c *Cloud) SetCluster(cluster Cluster) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setCluster(cluster)
}

func (c *Cloud) setCluster(cluster Cluster) {
	if cluster.Name == "" {
		cluster.Name = "packhorse"
	}
	if cluster.Version == "" {
		cluster.Version = "1.36"
	}
	renamed := c.network == nil || cluster.Name != c.cluster.Name
	c.cluster = cluster
	c.issuer.forget()
	if renamed {
		c.network = newNetwork(c.region, c.account, cluster.Name, c.network)
	}
	c.published = c.now()
	c.listImages()
}

// Behaviour returns what SetBehaviour has set.
func (c *Cloud) Behaviour() Behaviour {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behaviour
}

// SetBehaviour changes the delays of instances that are launched or terminated
// from now on.
func (c *Cloud) SetBehaviour(b Behaviour) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.behaviour = b
}

// AdminCredentials returns the access key of a user who may do everything.
func (c *Cloud) AdminCredentials() (accessKeyID, secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admin.accessKeyID, c.admin.secret
}

// zones returns the names of the region's availability zones.
func (c *Cloud) zones() []string { return zonesOf(c.region) }

func zonesOf(region string) []string {
	return []string{region + "a", region + "b", region + "c"}
}
