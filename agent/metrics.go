package agent

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Metrics are what an agent exports, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry
	listed   []metric

	turns            prometheus.Counter
	rounds           prometheus.Counter
	turnSeconds      prometheus.Histogram
	drainPassSeconds prometheus.Histogram
	pending          prometheus.Gauge
	unplaced         prometheus.Gauge
	nodes            *prometheus.GaugeVec
	price            *prometheus.GaugeVec
	unavailable      *prometheus.GaugeVec
	launches         *prometheus.CounterVec
	refusals         *prometheus.CounterVec
	cloudErrors      *prometheus.CounterVec
	untilLaunch      prometheus.Histogram
	untilBinding     prometheus.Histogram
	untilRunning     prometheus.Histogram
	drainSeconds     *prometheus.HistogramVec
	terminations     *prometheus.CounterVec
	blocked          *prometheus.CounterVec
	drainsHeldUp     *prometheus.GaugeVec
	notices          *prometheus.CounterVec
	disruptions      *prometheus.CounterVec
	shortfalls       *prometheus.CounterVec
	learntMemory     *prometheus.GaugeVec
	ready            *prometheus.GaugeVec
	leading          prometheus.Gauge
	ownerless        *prometheus.GaugeVec
	clusterRequests  *prometheus.CounterVec
	cloudRequests    *prometheus.CounterVec
}

var (
	// overheadBuckets resolve the agent's own share, from 5 ms to about 80 s.
	overheadBuckets = prometheus.ExponentialBuckets(0.005, 2, 15)
	// lifeBuckets resolve what takes machines and pods their time, from 0.5 s to
	// about an hour.
	lifeBuckets = prometheus.ExponentialBuckets(0.5, 2, 14)
)

// NewMetrics returns metrics for Options.Metrics, so that requests can be counted
// that are made before there is an agent.
func NewMetrics() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.turns = m.counters("turns_total", "Turns of the planning loop.").WithLabelValues()
	m.rounds = m.counters("plans_total", "Plans made; more than turns where a cloud refused offerings.").WithLabelValues()
	m.turnSeconds = m.histogram("turn_duration_seconds", "Duration of a turn of the planning loop.", overheadBuckets)
	m.drainPassSeconds = m.histogram("drain_pass_duration_seconds", "Duration of a pass of the draining loop.", overheadBuckets)
	m.pending = m.gauges("pods_pending", "Pods that wait for a node.").WithLabelValues()
	m.unplaced = m.gauges("pods_unplaced", "Pods for which no node can be bought.").WithLabelValues()
	m.untilLaunch = m.histogram("unschedulable_to_launch_seconds", "Time from an order's first unschedulable pod to the launch call.", overheadBuckets)
	m.untilBinding = m.histogram("unschedulable_to_binding_seconds", "Time from a pod being seen unschedulable to its binding by the agent.", overheadBuckets)
	m.untilRunning = m.histogram("unschedulable_to_running_seconds", "Time from a pod being seen unschedulable to its being seen running.", lifeBuckets)
	m.nodes = m.gauges("nodes", "Nodes by state: starting, ready, unready or draining.", "provisioner", "state")
	m.price = m.gauges("hourly_price_dollars", "Price of the nodes per hour.", "provisioner")
	m.unavailable = m.gauges("offerings_unavailable", "Offerings that are not bought for now: without capacity, or avoided after a failure.", "provisioner")
	m.launches = m.counters("launches_total", "Machines launched, for pods that wait (pods) or in the place of nodes that go (replacement).", "provisioner", "reason", "instance_type", "zone", "capacity_type")
	m.refusals = m.counters("refusals_total", "Offerings that the cloud refused, by class of error.", "provisioner", "reason")
	m.cloudErrors = m.counters("cloud_errors_total", "Calls to the cloud that failed, after all retries.", "call")
	m.disruptions = m.counters("disruptions_total", "Nodes that began to be taken away, by reason.", "provisioner", "reason")
	m.drainSeconds = m.histograms("drain_duration_seconds", "Time from a node's deletion to its machine being given back.", lifeBuckets, "provisioner")
	m.terminations = m.counters("terminations_total", "Nodes whose machine was given back.", "provisioner")
	m.blocked = m.counters("evictions_blocked_total", "Evictions that a disruption budget forbade.", "provisioner")
	m.drainsHeldUp = m.gauges("drains_held_up", "Nodes whose drain waits longer than it should, by what for.", "provisioner", "cause")
	m.notices = m.counters("notices_total", "Notices from the cloud, by what they are about.", "kind")
	m.shortfalls = m.counters("allocatable_shortfalls_total", "Nodes that came up with less than was predicted.", "instance_type", "resource")
	m.learntMemory = m.gauges("learnt_memory_bytes", "Memory capacity that nodes have shown, in the place of an estimate.", "instance_type", "image")
	m.ready = m.gauges("provisioner_ready", "Whether nodes can be bought with a Provisioner now (1) or not (0), with the reason of its condition Ready.", "provisioner", "reason")
	m.leading = m.gauges("leading", "Whether this agent leads (1) or stands by (0).").WithLabelValues()
	m.ownerless = m.gauges("ownerless", "Instances and nodes (kind) that nothing looks after: their Provisioner is gone, or an instance has had no Node object for longer than machines may take to come up.", "kind")
	m.clusterRequests = m.counters("kubernetes_requests_total", "Requests to the API server, each attempt; code 0 where there was no answer.", "verb", "resource", "code")
	m.cloudRequests = m.counters("aws_requests_total", "Requests to AWS, each attempt; code 0 where there was no answer.", "service", "operation", "code")
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "packhorse"

// metric is what the documentation says of one.
type metric struct {
	name, kind, help string
	labels           []string
}

func (m *Metrics) register(c prometheus.Collector, doc metric) {
	doc.name = namespace + "_" + doc.name
	m.listed = append(m.listed, doc)
	m.registry.MustRegister(c)
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register(v, metric{name, "counter", help, labels})
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register(v, metric{name, "gauge", help, labels})
	return v
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.register(v, metric{name, "histogram", help, labels})
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.register(h, metric{name, "histogram", help, nil})
	return h
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

// KubernetesRequest counts a request to the API server with the HTTP status of its
// answer; 0 for none.
func (m *Metrics) KubernetesRequest(verb, resource string, code int) {
	m.clusterRequests.WithLabelValues(verb, resource, strconv.Itoa(code)).Inc()
}

// AWSRequest counts a request to AWS with the HTTP status of its answer; 0 for none.
func (m *Metrics) AWSRequest(service, operation string, code int) {
	m.cloudRequests.WithLabelValues(service, operation, strconv.Itoa(code)).Inc()
}

func (m *Metrics) drained(provisioner string, took time.Duration) {
	m.drainSeconds.WithLabelValues(provisioner).Observe(took.Seconds())
	m.terminations.WithLabelValues(provisioner).Inc()
}

// heldUp sets the gauge of the drains that are held up.
func (m *Metrics) heldUp(s *cluster.Snapshot, causes []nodeCause) {
	m.drainsHeldUp.Reset()
	for _, c := range causes {
		if i, ok := slices.BinarySearchFunc(s.Nodes, c.node, func(n cluster.Node, name string) int { return strings.Compare(n.Name, name) }); ok {
			m.drainsHeldUp.WithLabelValues(s.Nodes[i].Provisioner, string(c.cause)).Inc()
		}
	}
}

// state sets the gauges.
func (m *Metrics) state(v *view, plan *decide.Plan) {
	m.pending.Set(float64(len(pending(v.snapshot))))
	m.unplaced.Set(float64(len(waiting(plan))))
	m.nodes.Reset()
	m.price.Reset()
	m.unavailable.Reset()
	m.stand(v)
	for _, p := range v.provisioners {
		m.unavailable.WithLabelValues(p.raw.Name).Set(float64(p.unavailable()))
	}
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if n.Provisioner == "" {
			continue
		}
		m.nodes.WithLabelValues(n.Provisioner, nodeState(n)).Inc()
		m.price.WithLabelValues(n.Provisioner).Add(priceOf(n.Annotations).Dollars())
	}
}

// stand sets the gauges of what the Provisioners can do, and of nodes whose Provisioner
// is gone. Those that are going are looked after: the drains tell of them.
func (m *Metrics) stand(v *view) {
	m.ready.Reset()
	for _, p := range v.provisioners {
		value := 0.0
		if p.ready.Status == metav1.ConditionTrue {
			value = 1
		}
		m.ready.WithLabelValues(p.raw.Name, p.ready.Reason).Set(value)
	}
	ownerless := 0
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if ours := n.Provisioner != "" || held(n, api.Finalizer); ours && v.byName[n.Provisioner] == nil && !n.Deleting {
			ownerless++
		}
	}
	m.ownerless.WithLabelValues("node").Set(float64(ownerless))
}

// learnt exports what nodes have shown.
func (m *Metrics) learnt(all []offer.Learnt) {
	m.learntMemory.Reset()
	for _, l := range all {
		m.learntMemory.WithLabelValues(l.InstanceType, l.ImageID).Set(float64(l.Memory))
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
