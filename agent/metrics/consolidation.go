package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Consolidation counts what consolidation saves, and says what keeps it from saving more.
type Consolidation struct {
	// Saved adds up what the nodes that were chosen save per hour, in dollars, each time.
	Saved prometheus.Counter
	// Nodes counts those that were chosen, those of them that went, and those that were
	// kept after all.
	Nodes *prometheus.CounterVec
	// Landed counts the pods that came in the place of evicted ones, by LandedAsPlanned and
	// LandedElsewhere.
	Landed *prometheus.CounterVec
	// Evictions counts the pods that were moved.
	Evictions *prometheus.CounterVec
	// Age is for how long no look at nodes in use has succeeded, in seconds.
	Age prometheus.Gauge

	open      *prometheus.GaugeVec
	remaining *prometheus.GaugeVec
	together  func() (done func())
}

// Where the successors of evicted pods land.
const (
	LandedAsPlanned = "planned"
	LandedElsewhere = "elsewhere"
)

func newConsolidation(m *Metrics) Consolidation {
	return Consolidation{
		Saved:     m.counters("consolidation_saved_dollars_per_hour_total", "Savings per hour of the nodes that consolidation has chosen, including those that were kept after all.").WithLabelValues(),
		Nodes:     m.counters("consolidation_nodes_total", "Nodes in use that consolidation has chosen (chosen), those whose drain has begun (gone), and those that were kept after all (called-off). One that is interrupted or that a person deletes before its drain begins is counted as chosen only.", provisionerLabel, "outcome"),
		Evictions: m.counters("consolidation_evictions_total", "Pods evicted from nodes in use that consolidation has chosen.", provisionerLabel),
		Landed:    m.counters("consolidation_landed_pods_total", "Successors of evicted pods, by whether they run on the planned node (planned, elsewhere).", "place"),
		Age:       m.gauges("consolidation_look_age_seconds", "Time since nodes in use were last looked at without a failure, or since the agent began to lead; 0 if no Provisioner consolidates nodes in use.").WithLabelValues(),
		open:      m.gauges("consolidation_open_dollars_per_hour", "Savings per hour of planned consolidation steps that are waiting, plus the price of the unrequested capacity of protected nodes and of spot nodes that too few instance types could replace, by blocker.", "blocker"),
		remaining: m.gauges("consolidation_nodes_remaining", "Nodes in use that consolidation does not remove, by what keeps them.", "blocker"),
		together:  m.Together,
	}
}

// Looked sets the gauges to what a look at nodes in use has found; nil where no Provisioner
// consolidates any, or the look failed.
func (m *Consolidation) Looked(c *decide.Consolidation) {
	defer m.together()()
	m.open.Reset()
	m.remaining.Reset()
	if c == nil {
		return
	}
	for i := range c.Steps {
		if st := &c.Steps[i]; !st.Going {
			m.open.WithLabelValues(string(st.Blocker)).Add(st.Saving.Dollars())
			m.remaining.WithLabelValues(string(st.Blocker)).Add(float64(len(st.Nodes)))
		}
	}
	for _, n := range c.Stays {
		m.open.WithLabelValues(string(n.Blocker)).Add(n.Unused.Dollars())
		m.remaining.WithLabelValues(string(n.Blocker)).Inc()
	}
}
