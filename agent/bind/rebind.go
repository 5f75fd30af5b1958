package bind

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// startPatience is how long the volumes of a bound pod may take until their node is selected again, and how
// long each time after that.
const startPatience = time.Minute

// rebindsAtOnce bounds how many pods' claims are looked at together.
const rebindsAtOnce = 16

// Rebind selects the node again for the unbound claims of pods that are bound to nodes of Provisioners and do
// not start. If an external provisioner does not know a new node yet, or has no room for the volume where the
// node is, it removes the node from the claim for the scheduler to choose again
// (https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner, ProvisioningReschedule). The
// scheduler does not look at a pod that is bound, so that the pod would wait for ever. Rebind does not wait for
// the API server, and does nothing while it still does so for earlier pods.
func (b *Binder) Rebind(ctx context.Context, v *view.View) {
	unbound := map[cluster.ClaimKey]bool{}
	for i := range v.Snapshot.Claims {
		c := &v.Snapshot.Claims[i]
		unbound[cluster.ClaimKey{Namespace: c.Namespace, Name: c.Name}] = c.VolumeName == ""
	}
	lacks := func(p *cluster.Pod) bool {
		return slices.ContainsFunc(p.Template.Claims, func(c cluster.ClaimRef) bool {
			return unbound[cluster.ClaimKey{Namespace: p.Namespace, Name: c.Name}]
		})
	}
	busy := b.rebinding.Load()
	var due []*cluster.Pod
	starting := map[string]time.Time{}
	for p := range v.Snapshot.EachPod() {
		n := v.Snapshot.Node(p.NodeName)
		if p.State != cluster.PodBound || p.Running || n == nil || n.Provisioner == "" || !lacks(p) {
			continue
		}
		since, known := b.starting[p.UID]
		switch {
		case !known:
			since = v.Now
		case !busy && v.Now.Sub(since) >= startPatience:
			since = v.Now
			due = append(due, p)
		}
		starting[p.UID] = since
	}
	b.starting = starting
	if len(due) == 0 {
		return
	}
	b.rebinding.Store(true)
	go func() {
		defer b.rebinding.Store(false)
		parallel.Each(rebindsAtOnce, due, func(p *cluster.Pod) { b.rebindOne(ctx, p) })
	}()
}

func (b *Binder) rebindOne(ctx context.Context, p *cluster.Pod) {
	err := b.Pods.Bind(ctx, p.PodKey, p.NodeName)
	if err != nil && !errors.Is(err, cluster.ErrStale) && !errors.Is(err, cluster.ErrLeftToScheduler) && ctx.Err() == nil {
		b.Log.Warn("could not bind a pod", "pod", p.String(), "node", p.NodeName, "error", err)
	}
}
