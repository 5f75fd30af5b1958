package platform

import (
	"context"
	"errors"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/installation"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Installation keeps the agent's own objects.
func (c *cluster) Installation() session.Installation {
	return keeper{installation.NewKeeper(c.objects, c.typed, c.manager, c.roster)}
}

type keeper struct{ *installation.Keeper }

func (k keeper) Await(ctx context.Context, namespace, name string, progress func(string)) (session.AgentStatus, error) {
	status, err := k.Keeper.Await(ctx, namespace, name, progress)
	return session.AgentStatus(status), err
}

func (k keeper) Status(ctx context.Context, namespace, name string) (session.AgentStatus, error) {
	status, err := k.Keeper.Status(ctx, namespace, name, time.Now())
	return session.AgentStatus(status), err
}

func (k keeper) Drain(ctx context.Context, progress func([]string)) error {
	err := k.Keeper.Drain(ctx, progress)
	if errors.Is(err, installation.ErrNoAgent) {
		return noAgentError{err}
	}
	return err
}

// noAgentError is an error that the provider knows as session.ErrNoAgent.
type noAgentError struct{ error }

func (noAgentError) Is(target error) bool { return target == session.ErrNoAgent }

func (k keeper) Nodes(ctx context.Context) ([]session.AgentNode, error) {
	return agentNodes(k.Keeper.Nodes(ctx))
}

func (k keeper) Release(ctx context.Context) ([]session.AgentNode, error) {
	return agentNodes(k.Keeper.Release(ctx))
}

func agentNodes(nodes []installation.Node, err error) ([]session.AgentNode, error) {
	out := make([]session.AgentNode, len(nodes))
	for i, n := range nodes {
		out[i] = session.AgentNode(n)
	}
	return out, err
}
