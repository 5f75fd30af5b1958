// Package limit bounds how many requests a client sends to the API server in a second.
package limit

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Bound returns the configuration of a client with a limiter of its own. The API server has its own priority and fairness.
func Bound(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.RateLimiter = limiter{flowcontrol.NewTokenBucketRateLimiter(500, 1000)}
	return cfg
}

// limiter returns [cluster.ErrBusy] for requests whose turn does not come in time.
type limiter struct{ flowcontrol.RateLimiter }

func (l limiter) Wait(ctx context.Context) error {
	if err := l.RateLimiter.Wait(ctx); err != nil {
		return fmt.Errorf("%w: %w", cluster.ErrBusy, err)
	}
	return nil
}
