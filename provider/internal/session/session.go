package session

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/connect"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/eksauth"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/irsa"
)

// callTimeout bounds one call with its retries.
const callTimeout = time.Minute

// Session is shared by all resources of one provider block.
type Session struct {
	Config Config

	aws     lazy[aws.Config]
	caller  lazy[Caller]
	eks     lazy[*eksauth.Cluster]
	cluster lazy[*Cluster]
}

// Caller is the AWS account that the credentials belong to.
type Caller struct{ Partition, Account string }

// New returns a session without any client.
func New(cfg Config) *Session { return &Session{Config: cfg} }

// Known returns ErrUnknown if the provider block is not known yet.
func (s *Session) Known() error {
	if len(s.Config.Unknown) > 0 {
		return fmt.Errorf("%w: %s", ErrUnknown, strings.Join(s.Config.Unknown, ", "))
	}
	return nil
}

// Mask keeps the secrets of the provider block out of the logs.
func (s *Session) Mask(ctx context.Context) context.Context {
	secrets := s.Config.secrets()
	ctx = tflog.MaskAllFieldValuesStrings(ctx, secrets...)
	return tflog.MaskMessageStrings(ctx, secrets...)
}

// Roles returns the IAM roles of the account.
func (s *Session) Roles(ctx context.Context) (*irsa.Roles, error) {
	cfg, err := s.AWS(ctx)
	if err != nil {
		return nil, err
	}
	return irsa.NewRoles(iam.NewFromConfig(cfg, func(o *iam.Options) { o.BaseEndpoint = s.endpoint("iam", o.BaseEndpoint) })), nil
}

// AWS returns the AWS configuration.
func (s *Session) AWS(ctx context.Context) (aws.Config, error) {
	if err := s.Known(); err != nil {
		return aws.Config{}, err
	}
	return s.aws.get(func() (aws.Config, error) { return connect.Load(ctx, s.Config.AWS) })
}

// Caller returns the account that the credentials belong to.
func (s *Session) Caller(ctx context.Context) (Caller, error) {
	client, err := s.sts(ctx)
	if err != nil {
		return Caller{}, err
	}
	return s.caller.get(func() (Caller, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
		if err != nil {
			return Caller{}, fmt.Errorf("find the AWS account of the credentials: %w", err)
		}
		parts := strings.SplitN(aws.ToString(out.Arn), ":", 3)
		if len(parts) < 3 {
			return Caller{}, fmt.Errorf("find the AWS account of the credentials: %q is no ARN", aws.ToString(out.Arn))
		}
		return Caller{Partition: parts[1], Account: aws.ToString(out.Account)}, nil
	})
}

// EKS returns where the cluster named in the provider block is.
func (s *Session) EKS(ctx context.Context) (*eksauth.Cluster, error) {
	return s.eks.get(func() (*eksauth.Cluster, error) { return s.FindEKS(ctx, s.Config.ClusterName) })
}

// FindEKS looks an EKS cluster up by its name.
func (s *Session) FindEKS(ctx context.Context, name string) (*eksauth.Cluster, error) {
	cfg, err := s.AWS(ctx)
	if err != nil {
		return nil, err
	}
	client := eks.NewFromConfig(cfg, func(o *eks.Options) { o.BaseEndpoint = s.endpoint("eks", o.BaseEndpoint) })
	return eksauth.Find(ctx, client, name)
}

func (s *Session) sts(ctx context.Context) (*sts.Client, error) {
	cfg, err := s.AWS(ctx)
	if err != nil {
		return nil, err
	}
	return sts.NewFromConfig(cfg, func(o *sts.Options) { o.BaseEndpoint = s.endpoint("sts", o.BaseEndpoint) }), nil
}

// endpoint prefers the provider block's endpoint to what the SDK has found in
// the environment.
func (s *Session) endpoint(service string, found *string) *string {
	if own := s.Config.AWS.Endpoint(service); own != nil {
		return own
	}
	return found
}

// lazy builds a value once. A build that went wrong is tried again by the next
// caller, since its trouble may have passed.
type lazy[T any] struct {
	mu    sync.Mutex
	built bool
	value T
}

func (l *lazy[T]) get(build func() (T, error)) (T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.built {
		return l.value, nil
	}
	value, err := build()
	if err == nil {
		l.value, l.built = value, true
	}
	return value, err
}
