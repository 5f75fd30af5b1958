package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Consolidation tells what consolidation saves, and what keeps it from saving more.
type Consolidation struct {
	// Nodes counts those that were chosen, and those that were kept after all.
	Nodes *prometheus.CounterVec

	saved     prometheus.Counter
	open      *prometheus.GaugeVec
	remaining *prometheus.GaugeVec
}

func newConsolidation(m *Metrics) Consolidation {
	return Consolidation{
		saved:     m.counters("consolidation_saved_dollars_per_hour_total", "What the steps of consolidation that were decided save per hour together.").WithLabelValues(),
		Nodes:     m.counters("consolidation_nodes_total", "Nodes in use that were chosen by consolidation (chosen), and those of them that were kept after all (called-off).", "provisioner", "outcome"),
		open:      m.gauges("consolidation_open_dollars_per_hour", "What steps of consolidation that are not taken yet would save per hour, by what holds them.", "blocker"),
		remaining: m.gauges("consolidation_nodes_remaining", "Nodes in use that consolidation leaves where they are, by what holds them.", "blocker"),
	}
}

// Looked sets the gauges to what a look at nodes in use has found.
func (m *Consolidation) Looked(c *decide.Consolidation) {
	m.open.Reset()
	m.remaining.Reset()
	for i := range c.Steps {
		if st := &c.Steps[i]; st.Going {
			m.saved.Add(st.Saving.Dollars())
		} else {
			m.open.WithLabelValues(string(st.Blocker)).Add(st.Saving.Dollars())
			m.remaining.WithLabelValues(string(st.Blocker)).Add(float64(len(st.Nodes)))
		}
	}
	for _, n := range c.Stays {
		m.remaining.WithLabelValues(string(n.Blocker)).Inc()
	}
}
