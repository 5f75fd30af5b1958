package irsarole

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// unready is a platform whose cluster is never ready.
type unready struct{ session.Platform }

func (unready) Cluster(context.Context) (session.Cluster, error) { return nil, session.ErrNotReady }

// Only what an apply adds waits for a cluster that was created a moment ago. A refresh is part of a plan, and what a
// destroy takes back was in a cluster that has been there for long.
func TestOnlyNewAnnotationsAwaitTheCluster(t *testing.T) {
	m := &model{
		AnnotateServiceAccount: types.BoolValue(true), Identity: types.StringValue(throughOIDC),
		ServiceAccounts: accountSet([]policy.ServiceAccount{{Namespace: "packhorse", Name: "agent"}}),
	}
	for name, c := range map[string]struct {
		reach func(*irsaRole, context.Context) error
		takes time.Duration
	}{
		"an apply":  {func(r *irsaRole, ctx context.Context) error { return r.checkAccounts(ctx, m) }, time.Minute},
		"a refresh": {func(r *irsaRole, ctx context.Context) error { return r.refreshAnnotation(ctx, m) }, 0},
		"a destroy": {func(r *irsaRole, ctx context.Context) error { return r.takeBack(ctx, m, &model{}) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRole()
				r.Session = session.New(session.Config{ClusterName: "prod"}, func(session.Config) session.Platform { return unready{} })
				began := time.Now()
				if err := c.reach(r, t.Context()); !errors.Is(err, session.ErrNotReady) || time.Since(began) != c.takes {
					t.Errorf("%v after %s, want it after %s", err, time.Since(began), c.takes)
				}
			})
		})
	}
}
