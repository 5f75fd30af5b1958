package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Session is shared by all resources of one provider block.
type Session struct {
	Config   Config
	connect  Connect
	platform Platform
	Drafts   Drafts
	Claims   Claims
	reported atomic.Bool // whether First was called

	stockOnce sync.Once
	stock     *Stock
	stockErr  error

	nodesOnce sync.Once
	nodes     offer.NodeOptions
	nodesErr  error

	surveyOnce sync.Once
	survey     *cluster.Survey
	surveyErr  error
}

// New returns the session of a provider block.
func New(cfg Config, connect Connect) *Session {
	return &Session{Config: cfg, connect: connect, platform: connect(cfg)}
}

// Known returns ErrUnknown if the access to the cluster is known only after apply.
func (s *Session) Known() error { return s.Config.Known() }

// Named returns an error if the provider block does not tell, or not yet, which cluster it is about.
func (s *Session) Named() error {
	if err := s.Known(); err != nil {
		return err
	}
	_, err := s.Config.Source()
	return err
}

// Naming returns the session of the same provider block, if that named an EKS cluster as text.
func (s *Session) Naming(cluster string) *Session {
	cfg := s.Config
	cfg.ClusterName, cfg.EmptyName, cfg.Kubernetes = cluster, cluster == "", nil
	cfg.Unknown = slices.DeleteFunc(slices.Clone(cfg.Unknown), func(attribute string) bool {
		return attribute == "cluster_name" || attribute == "kubernetes"
	})
	return New(cfg, s.connect)
}

// Mask keeps the secrets of the provider block out of the logs.
func (s *Session) Mask(ctx context.Context) context.Context {
	secrets := s.Config.secrets()
	ctx = tflog.MaskAllFieldValuesStrings(ctx, secrets...)
	return tflog.MaskMessageStrings(ctx, secrets...)
}

// Cluster returns the cluster of the provider block.
func (s *Session) Cluster(ctx context.Context) (Cluster, error) {
	if err := s.Known(); err != nil {
		return nil, err
	}
	source, err := s.Config.Source()
	if err != nil {
		return nil, err
	}
	tflog.Debug(ctx, "used the access to the cluster", map[string]any{"source": source})
	return s.platform.Cluster(ctx)
}

// How long AwaitCluster waits for a cluster that was created a moment ago, and how often it tries.
const (
	readyLimit = time.Minute
	readyPause = 5 * time.Second
)

// AwaitCluster is Cluster for an apply, which may have created the cluster a moment ago: its name may not be in DNS yet,
// its load balancer may not respond, and it may not know the caller. AwaitCluster waits up to a minute for that. A plan
// does not wait, because it can do without the cluster.
func (s *Session) AwaitCluster(ctx context.Context) (Cluster, error) {
	for deadline := time.Now().Add(readyLimit); ; {
		found, err := s.Cluster(ctx)
		if !errors.Is(err, ErrNotReady) || !time.Now().Before(deadline) {
			return found, err
		}
		tflog.Info(ctx, "the cluster is not ready yet", map[string]any{"error": err.Error()})
		select {
		case <-ctx.Done():
			return found, err
		case <-time.After(readyPause):
		}
	}
}

var (
	// ErrNotReady means that the API server responds as one may whose cluster was created a moment ago.
	ErrNotReady = errors.New("the cluster is not ready")
	// ErrWrongAccess means that the access itself is wrong, so that another attempt would fail too: the cluster
	// does not exist, credentials are refused, or another authority has signed the certificate.
	ErrWrongAccess = errors.New("wrong access")
	// ErrMissingCluster means that no EKS cluster has the name. It is also ErrWrongAccess.
	ErrMissingCluster = errors.New("no such cluster")
)

// First reports whether it is called for the first time in this session. It prevents that the same error for
// each resource hides other errors.
func (s *Session) First() bool { return !s.reported.Swap(true) }

// Region returns the AWS region of the provider, or an empty string if none is configured.
func (s *Session) Region(ctx context.Context) string {
	region, err := s.platform.Region(ctx)
	if err != nil {
		return s.Config.AWS.Region
	}
	return region
}

// Account returns the AWS account of the provider block.
func (s *Session) Account(ctx context.Context) (*Account, error) {
	if err := s.Config.known(accountAttributes); err != nil {
		return nil, err
	}
	return s.platform.Account(ctx)
}

// ClusterARN returns the ARN of the EKS cluster that the provider block names, which need not exist.
func (s *Session) ClusterARN(ctx context.Context) (string, error) {
	account, err := s.Account(ctx)
	if err != nil {
		return "", err
	}
	return policy.ClusterARN(account.Partition, account.Region, account.ID, s.Config.ClusterName), nil
}

// Survey returns the state of the cluster at the first call. The plans of all resources share it.
func (s *Session) Survey(ctx context.Context) (*cluster.Survey, error) {
	live, err := s.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	s.surveyOnce.Do(func() { s.survey, s.surveyErr = live.Survey(ctx) })
	return s.survey, s.surveyErr
}

// agentLookup is the time limit for reading the options of the agent, which a plan can do without.
const agentLookup = 5 * time.Second

// NodeOptions returns the options of the agent that size nodes. They are the defaults if the provider block names no
// cluster, and with an error if they cannot be read. They are read once.
func (s *Session) NodeOptions(ctx context.Context) (offer.NodeOptions, error) {
	if _, err := s.Config.Source(); errors.Is(err, ErrNoCluster) {
		return offer.NodeOptions{}, nil
	}
	s.nodesOnce.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, agentLookup)
		defer cancel()
		var live Cluster
		if live, s.nodesErr = s.Cluster(ctx); s.nodesErr == nil {
			s.nodes, s.nodesErr = live.Installation().NodeOptions(ctx)
		}
	})
	return s.nodes, s.nodesErr
}

// Token returns a bearer token for the cluster of the provider block.
func (s *Session) Token(ctx context.Context) (token string, expires time.Time, err error) {
	if err := s.named(); err != nil {
		return "", time.Time{}, err
	}
	return s.platform.Token(ctx)
}

// Facts returns EKS's description of the cluster of the provider block.
func (s *Session) Facts(ctx context.Context) (*asset.Cluster, error) {
	if err := s.named(); err != nil {
		return nil, err
	}
	return s.platform.Facts(ctx)
}

// Discover finds what can be imported from the cluster of the provider block.
func (s *Session) Discover(ctx context.Context) (*onboard.Found, error) {
	if err := s.named(); err != nil {
		return nil, err
	}
	return s.platform.Discover(ctx)
}

// named returns an error unless the provider block names an EKS cluster.
func (s *Session) named() error {
	if err := s.Known(); err != nil {
		return err
	}
	if s.Config.ClusterName == "" {
		return errors.New("the provider block has no `cluster_name`, which names the EKS cluster")
	}
	return nil
}
