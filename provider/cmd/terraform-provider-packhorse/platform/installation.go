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

func (k keeper) Drain(ctx context.Context, provisioners []string, progress func([]string)) error {
	err := k.Keeper.Drain(ctx, provisioners, progress)
	if errors.Is(err, installation.ErrNoAgent) {
		return noAgentError{err}
	}
	return err
}

// noAgentError is an error that the provider knows as session.ErrNoAgent.
type noAgentError struct{ error }

func (noAgentError) Is(target error) bool { return target == session.ErrNoAgent }

func (k keeper) Holdings(ctx context.Context) (out session.Holdings, err error) {
	objects, err := k.Keeper.Objects(ctx)
	if err != nil {
		return out, err
	}
	for _, o := range objects {
		out.Objects = append(out.Objects, session.AgentObject(o))
	}
	out.Nodes, err = agentNodes(k.Keeper.Nodes(ctx))
	return out, err
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
