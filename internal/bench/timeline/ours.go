package timeline

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

const provisionerName = "default"

// provisioner buys on demand, for both architectures.
func provisioner(edits ...func(*api.ProvisionerSpec)) *api.Provisioner {
	p := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: provisionerName}}
	p.Spec.Requirements = []api.Requirement{
		{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacityOnDemand}},
		{Key: api.LabelArch, Operator: api.OpIn, Values: []string{"amd64", "arm64"}},
		{Key: api.LabelOS, Operator: api.OpIn, Values: []string{"linux"}},
	}
	for _, e := range edits {
		e(&p.Spec)
	}
	return p
}

// Ours is the agent's own loop, with a cost of evictions; empty: the default. It looks at nodes
// in use no more often than once in that time.
func Ours(name, evictionCost string, look time.Duration, options agent.Options) Policy {
	return Policy{Name: name, Start: func(ctx context.Context, t testing.TB, w *sim.World) func() {
		consolidates := func(s *api.ProvisionerSpec) {
			s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)}
			s.Disruption = &api.Disruption{}
			if evictionCost != "" {
				s.Disruption.EvictionCost = ptr.To(api.NumberOrNever(evictionCost))
			}
		}
		w.Apply(provisioner(consolidates))
		process := w.Connect(nil)
		options.Decide = oncePer(look)
		options.Metrics = metrics.New()
		a := agent.New(process.Cluster, process.Cloud, options, hclog.NewNullLogger())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := a.Run(ctx); err != nil {
				t.Errorf("the agent ended: %v", err)
			}
		}()
		return func() {
			<-done
			landed := options.Metrics.Consolidation.Landed
			t.Logf("%s: %g moved pods landed where planned, %g elsewhere", name, count(landed.WithLabelValues(metrics.LandedAsPlanned)), count(landed.WithLabelValues(metrics.LandedElsewhere)))
		}
	}}
}

// count reads a counter.
func count(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return math.NaN()
	}
	return m.GetCounter().GetValue()
}

// busyLook is the time between two looks at nodes in use while steps are taken: about as long
// as it takes until a step's nodes have left and others may follow.
const busyLook = time.Minute

// oncePer decides as usual, but looks at nodes in use no more often than this, and once a
// minute while steps are taken. The agent does so every ten seconds, and less often where it
// takes long: in virtual time nothing does. It saves most of the time that a timeline takes.
func oncePer(pause time.Duration) func(decide.Input) decide.Plan {
	var next time.Time
	return func(in decide.Input) decide.Plan {
		in.NotConsolidated = in.NotConsolidated || in.Now.Before(next)
		plan := decide.Decide(in)
		if !in.NotConsolidated {
			rest := pause
			if c := plan.Consolidation; c != nil && slices.ContainsFunc(c.Steps, func(s decide.Step) bool { return s.Going }) {
				rest = min(rest, busyLook)
			}
			next = in.Now.Add(rest)
		}
		return plan
	}
}
