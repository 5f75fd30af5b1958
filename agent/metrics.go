package agent

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Metrics are what an agent exports, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry

	turns        prometheus.Counter
	rounds       prometheus.Counter
	turnSeconds  prometheus.Histogram
	pending      prometheus.Gauge
	unplaced     prometheus.Gauge
	nodes        *prometheus.GaugeVec
	price        *prometheus.GaugeVec
	launches     *prometheus.CounterVec
	refusals     *prometheus.CounterVec
	untilLaunch  prometheus.Histogram
	untilBinding prometheus.Histogram
	drainSeconds *prometheus.HistogramVec
	terminations *prometheus.CounterVec
	blocked      *prometheus.CounterVec
}

// overheadBuckets resolve the agent's own share, from 5 ms to about 80 s.
var overheadBuckets = prometheus.ExponentialBuckets(0.005, 2, 15)

func newMetrics() *Metrics {
	m := &Metrics{
		registry:     prometheus.NewRegistry(),
		turns:        counter("turns_total", "Turns of the planning loop."),
		rounds:       counter("plans_total", "Plans made; more than turns where a cloud refused offerings."),
		turnSeconds:  histogram("turn_duration_seconds", "Duration of a turn.", overheadBuckets),
		pending:      gauge("pods_pending", "Pods that wait for a node."),
		unplaced:     gauge("pods_unplaced", "Pods for which no node can be bought."),
		nodes:        gauges("nodes", "Nodes by state.", "provisioner", "state"),
		price:        gauges("hourly_price_dollars", "Price of the nodes per hour.", "provisioner"),
		launches:     counters("launches_total", "Machines launched.", "provisioner", "instance_type", "zone", "capacity_type"),
		refusals:     counters("refusals_total", "Offerings that the cloud refused.", "provisioner", "reason"),
		untilLaunch:  histogram("unschedulable_to_launch_seconds", "Time from an order's first unschedulable pod to the launch call.", overheadBuckets),
		untilBinding: histogram("unschedulable_to_binding_seconds", "Time from a pod being seen unschedulable to its binding.", overheadBuckets),
		drainSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "drain_duration_seconds", Help: "Time from a node's deletion to its machine being given back.",
			Buckets: prometheus.ExponentialBuckets(0.5, 2, 14),
		}, []string{"provisioner"}),
		terminations: counters("terminations_total", "Nodes whose machine was given back.", "provisioner"),
		blocked:      counters("evictions_blocked_total", "Evictions that a disruption budget forbade.", "provisioner"),
	}
	m.registry.MustRegister(m.turns, m.rounds, m.turnSeconds, m.pending, m.unplaced, m.nodes, m.price, m.launches, m.refusals,
		m.untilLaunch, m.untilBinding, m.drainSeconds, m.terminations, m.blocked,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "packhorse"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Registry is where they are registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// waited observes the time since a pod was first seen unschedulable.
func (m *Metrics) waited(h prometheus.Histogram, since time.Time) {
	if !since.IsZero() {
		h.Observe(time.Since(since).Seconds())
	}
}

func (m *Metrics) drained(provisioner string, took time.Duration) {
	m.drainSeconds.WithLabelValues(provisioner).Observe(took.Seconds())
	m.terminations.WithLabelValues(provisioner).Inc()
}

// state sets the gauges.
func (m *Metrics) state(v *view, plan *decide.Plan) {
	m.pending.Set(float64(len(pending(v.snapshot))))
	m.unplaced.Set(float64(len(waiting(plan))))
	m.nodes.Reset()
	m.price.Reset()
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if n.Provisioner == "" {
			continue
		}
		m.nodes.WithLabelValues(n.Provisioner, nodeState(n)).Inc()
		m.price.WithLabelValues(n.Provisioner).Add(priceOf(n.Annotations).Dollars())
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
