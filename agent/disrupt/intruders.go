package disrupt

import (
	"context"
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// undisturbed reads the pods of a node that is about to go from the API server, without
// caches, which may lag behind the taint. A pod that came in the meantime, or is
// protected now, keeps a node that goes for consolidation or because it was empty; other
// removals are planned again.
func (d *Disrupter) undisturbed(ctx context.Context, n *cluster.Node, fresh *view.Verifier) bool {
	pods, err := d.Cluster.PodsOn(ctx, n.Name)
	if err != nil {
		if ctx.Err() == nil {
			d.Log.Warn("could not read the pods of a node", "node", n.Name, "error", err)
			d.Retry()
		}
		return false
	}
	for i := range pods {
		why := intrudes(&pods[i], fresh.Planned(pods[i].UID))
		if why == "" {
			continue
		}
		switch n.Mark().Reason {
		case api.ReasonConsolidation, api.ReasonEmptiness:
			d.keep(ctx, n, why)
		}
		d.Replan()
		return false
	}
	return true
}

// intrudes says how a pod on a node differs from what was planned with, where that
// matters.
func intrudes(p, was *cluster.Pod) string {
	switch {
	case !p.NeedsNode():
		return ""
	case was == nil || was.NodeName != p.NodeName:
		return fmt.Sprintf("pod %s has come since it was chosen", p.PodKey)
	case p.Template.DoNotDisrupt && !was.Template.DoNotDisrupt || p.Template.DoNotDisruptFor > was.Template.DoNotDisruptFor:
		return fmt.Sprintf("pod %s must not be disrupted any more", p.PodKey)
	}
	return ""
}
