package agent

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// export sets the gauges, and lets the counters of Provisioners begin and end.
func export(m *metrics.Metrics, v *view.View, plan *decide.Plan) {
	defer m.Together()()
	m.Pending.Set(float64(len(v.Snapshot.Pending())))
	m.Unplaced.Set(float64(len(plan.Waiting())))
	m.Nodes.Reset()
	m.UnreadySeconds.Reset()
	m.Price.Reset()
	m.Unavailable.Reset()
	exportConditions(m, v)
	there, price, unready := map[string]bool{}, v.Prices(), map[string]time.Duration{}
	for _, p := range v.Provisioners {
		there[p.Raw.Name] = true
		m.Unavailable.WithLabelValues(p.Raw.Name).Set(float64(p.Unavailable()))
	}
	for n := range v.Snapshot.EachNode() {
		if n.Provisioner == "" || n.Doubtful {
			continue
		}
		there[n.Provisioner] = true
		state, since := nodeState(n), time.Duration(0)
		if state == "unready" && !n.UnreadySince.IsZero() {
			since = v.Now.Sub(n.UnreadySince)
		}
		unready[n.Provisioner] = max(unready[n.Provisioner], since)
		m.Nodes.WithLabelValues(n.Provisioner, state).Inc()
		m.Price.WithLabelValues(n.Provisioner).Add(price(n).Dollars())
	}
	for provisioner, since := range unready {
		m.UnreadySeconds.WithLabelValues(provisioner).Set(since.Seconds())
	}
	m.Follow(there, v.Now)
}

// exportConditions sets the gauges of what the Provisioners can do, of nodes whose removal is refused, and of nodes
// whose Provisioner is gone. Those that are being deleted do not count: their drains have metrics of their own.
func exportConditions(m *metrics.Metrics, v *view.View) {
	m.Ready.Reset()
	for _, p := range v.Provisioners {
		value := 0.0
		if p.Ready.Status == metav1.ConditionTrue {
			value = 1
		}
		m.Ready.WithLabelValues(p.Raw.Name, p.Ready.Reason).Set(value)
	}
	ownerless, refused := 0, 0
	for n := range v.Snapshot.EachNode() {
		// Karpenter has the same finalizer, and its nodes the label of their NodePool alone.
		if ours := n.Provisioner != "" || n.HeldBy(api.Finalizer) && !n.OfNodePool(); ours && v.ByName[n.Provisioner] == nil && !n.Deleting {
			ownerless++
		}
		if n.Refused != "" {
			refused++
		}
	}
	m.Ownerless.WithLabelValues("node").Set(float64(ownerless))
	m.RemovalsRefused.WithLabelValues("node").Set(float64(refused))
}

// exportLearnt exports what nodes have shown.
func exportLearnt(m *metrics.Metrics, all []offer.Learnt) {
	defer m.Together()()
	m.LearntMemory.Reset()
	for _, l := range all {
		m.LearntMemory.WithLabelValues(l.InstanceType, l.ImageID).Set(float64(l.Memory))
	}
}

// nodeState is where a node is in its life.
func nodeState(n *cluster.Node) string {
	switch {
	case n.Deleting:
		return "draining"
	case !n.Initialized:
		return "starting"
	case !n.Ready:
		return "unready"
	}
	return "ready"
}
