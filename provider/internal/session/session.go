package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Session is shared by all resources of one provider block.
type Session struct {
	Config   Config
	platform Platform
}

// New returns the session of a provider block.
func New(cfg Config, connect Connect) *Session { return &Session{cfg, connect(cfg)} }

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

// Account returns the AWS account of the provider block.
func (s *Session) Account(ctx context.Context) (*Account, error) {
	if err := s.Known(); err != nil {
		return nil, err
	}
	return s.platform.Account(ctx)
}
