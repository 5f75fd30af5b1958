// Package account is what all services of the model share: the account and its
// cluster, how requests are signed, authorised and answered, and the faults that
// strike them.
package account

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Account is one AWS account in one region. Each service embeds it. It is safe for
// concurrent use.
type Account struct {
	Region    string
	AccountID string
	Now       func() time.Time // of the modelled world
	Wall      func() time.Time // of signatures and tokens, which clients make by their own clocks
	Log       hclog.Logger

	Mu         sync.Mutex // guards everything below, and what services know
	Random     *rand.Rand
	Endpoint   string
	Cluster    Cluster
	Behaves    Behaviour
	Admin      *Credential
	Roles      Roles
	BeforeEach func() // request: with the lock held
	AfterEach  func() // request: without it

	services map[string]*Service
	keys     map[string]*Credential // by access key id
	grants   map[Grant]bool         // that were made use of
	faults   *faults
	throttle map[string]*bucket
	calls    []Call
}

// Identity says which account it is.
type Identity struct {
	Region, AccountID string
	Now               func() time.Time
	Logger            hclog.Logger
	Seed              uint64 // for ids and injected randomness
}

// New returns an account with an administrator and without services.
func New(identity Identity) *Account {
	c := &Account{
		Region: identity.Region, AccountID: identity.AccountID, Now: identity.Now, Wall: time.Now, Log: identity.Logger,
		Random:   rand.New(rand.NewPCG(identity.Seed, 0)),
		Behaves:  defaultBehaviour(),
		services: map[string]*Service{}, keys: map[string]*Credential{}, grants: map[Grant]bool{},
		faults: &faults{}, throttle: map[string]*bucket{},
	}
	c.Admin = c.newUser("admin")
	return c
}

// Serve adds services to those that the Handler answers for.
func (c *Account) Serve(services ...*Service) {
	for _, s := range services {
		c.services[s.Name] = s
	}
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

// Behaviour is how the modelled account takes its time.
type Behaviour struct {
	PendingDelay      time.Duration // from launch to running
	ShuttingDownDelay time.Duration // from termination to terminated
	TerminatedVisible time.Duration // how long a terminated instance is still described
	ReadLag           time.Duration // until DescribeInstances shows a new instance
	IAMLag            time.Duration // until other calls know a new role, instance profile, inline policy or OIDC provider, and that a provider is gone
	SpotWarning       time.Duration // from the warning until a spot instance is taken back
	DuplicateEvents   bool          // every event comes twice
	SumsUp            bool          // a fleet that buys too few adds an error that names no offering to those of its offerings
	MetadataTags      bool          // instances show their tags in their metadata, unless their launch says otherwise
	SpotVolatility    float64       // share by which spot prices move from hour to hour; 0: they stand still
	SessionLifetime   time.Duration // of assumed roles at most, whatever was asked for; 0: no bound
}

func defaultBehaviour() Behaviour {
	return Behaviour{PendingDelay: time.Second, ShuttingDownDelay: 2 * time.Second, TerminatedVisible: time.Hour, SpotWarning: 2 * time.Minute}
}

// SetEndpoint says under which base URL the Handler is served; it appears in
// the URLs of queues.
func (c *Account) SetEndpoint(url string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Endpoint = url
}

// Behaviour returns what SetBehaviour has set.
func (c *Account) Behaviour() Behaviour {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Behaves
}

// SetBehaviour changes the delays of instances that are launched or terminated
// from now on.
func (c *Account) SetBehaviour(b Behaviour) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Behaves = b
}

// AdminCredentials returns the access key of a user who may do everything.
func (c *Account) AdminCredentials() (accessKeyID, secret string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.Admin.AccessKeyID, c.Admin.Secret
}
