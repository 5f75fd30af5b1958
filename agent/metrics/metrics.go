// Package metrics holds what an agent exports to Prometheus.
package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Metrics are what an agent exports, in a registry of its own.
type Metrics struct {
	registry *prometheus.Registry
	whole    sync.Mutex // held while they are read, and while gauges are set that belong together
	listed   []Metric
	// byProvisioner are those with that label, and followed when each Provisioner was last there.
	byProvisioner []partial
	followed      map[string]time.Time

	Turns            prometheus.Counter
	Plans            prometheus.Counter
	TurnSeconds      prometheus.Histogram
	DrainPassSeconds prometheus.Histogram
	Pending          prometheus.Gauge
	Unplaced         prometheus.Gauge
	Nodes            *prometheus.GaugeVec
	UnreadySeconds   *prometheus.GaugeVec
	Price            *prometheus.GaugeVec
	Unavailable      *prometheus.GaugeVec
	Surges           *prometheus.CounterVec
	Launches         *prometheus.CounterVec
	Refusals         *prometheus.CounterVec
	OldestPlaced     prometheus.Gauge
	CloudErrors      *prometheus.CounterVec
	UntilLaunch      prometheus.Histogram
	UntilBinding     prometheus.Histogram
	UntilRunning     prometheus.Histogram
	DrainSeconds     *prometheus.HistogramVec
	Terminations     *prometheus.CounterVec
	EvictionsBlocked *prometheus.CounterVec
	DrainsHeldUp     *prometheus.GaugeVec
	HeldUpSeconds    *prometheus.GaugeVec
	Notices          *prometheus.CounterVec
	Disruptions      *prometheus.CounterVec
	Shortfalls       *prometheus.CounterVec
	LearntMemory     *prometheus.GaugeVec
	Ready            *prometheus.GaugeVec
	Leading          prometheus.Gauge
	Ownerless        *prometheus.GaugeVec
	RemovalsRefused  *prometheus.GaugeVec
	ClusterRequests  *prometheus.CounterVec
	CloudRequests    *prometheus.CounterVec
	Consolidation    Consolidation
}

var (
	// overheadBuckets resolve the agent's own share, from 5 ms to about 80 s.
	overheadBuckets = prometheus.ExponentialBuckets(0.005, 2, 15)
	// waitBuckets resolve the same where a wait for capacity may be part of it, to about six hours.
	waitBuckets = prometheus.ExponentialBuckets(0.005, 2, 23)
	// lifeBuckets resolve how long machines and pods take, from 0.5 s to about nine hours.
	lifeBuckets = prometheus.ExponentialBuckets(0.5, 2, 17)
)

// New returns metrics that count nothing yet. They may be given to an agent later, so that requests can be counted
// that are made before there is an agent.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), followed: map[string]time.Time{}}
	m.Turns = m.counters("turns_total", "Turns of the planning loop.").WithLabelValues()
	m.Plans = m.counters("plans_total", "Plans made. More plans than turns mean that the cloud refused offerings.").WithLabelValues()
	m.TurnSeconds = m.histogram("turn_duration_seconds", "Duration of a turn of the planning loop.", overheadBuckets)
	m.DrainPassSeconds = m.histogram("drain_pass_duration_seconds", "Duration of a pass of the draining loop.", overheadBuckets)
	m.Pending = m.gauges("pods_pending", "Pods that are waiting for a node.").WithLabelValues()
	m.Unplaced = m.gauges("pods_unplaced", "Pods for which no node can be bought.").WithLabelValues()
	m.OldestPlaced = m.gauges("pods_placed_oldest_seconds", "Longest time for which a waiting pod has had a place on a node, including nodes that are starting.").WithLabelValues()
	m.UntilLaunch = m.histogram("unschedulable_to_launch_seconds", "Time from an order's first unschedulable pod to the launch call, including waits for capacity.", waitBuckets)
	m.UntilBinding = m.histogram("unschedulable_to_binding_seconds", "Time from a pod being seen unschedulable to its binding by the agent, including waits for capacity.", waitBuckets)
	m.UntilRunning = m.histogram("unschedulable_to_running_seconds", "Time from a pod being seen unschedulable to its being seen running.", lifeBuckets)
	m.Nodes = m.gauges("nodes", "Nodes by state: starting, ready, unready or draining.", provisionerLabel, "state")
	m.UnreadySeconds = m.gauges("node_unready_seconds", "Longest time for which a node that was ready has not been ready; 0 if all are.", provisionerLabel)
	m.Price = m.gauges("hourly_price_dollars", "Price of the nodes per hour, at current prices.", provisionerLabel)
	m.Unavailable = m.gauges("offerings_unavailable", "Offerings that cannot be bought now: without capacity, or avoided after a failure.", provisionerLabel)
	m.Surges = m.counters("surges_total", "Deployments that were scaled up to move their pods off a node, by outcome: the pods have moved (moved), they could not be moved (failed), or the node did not go or they left it in another way (undone).", provisionerLabel, "outcome")
	m.Launches = m.counters("launches_total", "Machines launched, for pending pods (pods) or to replace nodes (replacement).", provisionerLabel, "reason", "instance_type", "zone", "capacity_type")
	m.Refusals = m.counters("refusals_total", "Offerings that the cloud refused, by class of error.", provisionerLabel, "reason")
	m.CloudErrors = m.counters("cloud_errors_total", "Calls to the cloud that failed, after all retries. Instance types, prices, stock or lookups that stay unreadable are counted only from time to time, at least every five minutes.", "call")
	m.Disruptions = m.counters("disruptions_total", "Nodes that were chosen for removal, by reason, counted each time; a node that waits for its replacement may be kept after all.", provisionerLabel, "reason")
	m.DrainSeconds = m.histograms("drain_duration_seconds", "Time from a node's deletion to the termination of its machine.", lifeBuckets, provisionerLabel)
	m.Terminations = m.counters("terminations_total", "Nodes whose machine was terminated.", provisionerLabel)
	m.EvictionsBlocked = m.counters("evictions_blocked_total", "Evictions that a PodDisruptionBudget prevented.", provisionerLabel)
	m.DrainsHeldUp = m.gauges("drains_held_up", "Nodes whose drain takes longer than it should, by cause.", provisionerLabel, "cause")
	m.HeldUpSeconds = m.gauges("drain_held_up_seconds", "Longest time for which a pod or something else has held up a drain, by cause.", provisionerLabel, "cause")
	m.Notices = m.counters("notices_total", "Notices from the cloud, by kind.", "kind")
	for _, kind := range []offer.NoticeKind{
		offer.NoticeSpotInterruption, offer.NoticeRebalance, offer.NoticeScheduledChange, offer.NoticeStateChange, offer.NoticeReservation,
		offer.NoticeUnrelated, offer.NoticeMalformed,
	} {
		m.Notices.WithLabelValues(string(kind))
	}
	m.Shortfalls = m.counters("allocatable_shortfalls_total", "Nodes with less allocatable capacity than predicted.", "instance_type", "resource")
	m.LearntMemory = m.gauges("learnt_memory_bytes", "Memory capacity that nodes have reported, used instead of an estimate.", "instance_type", "image")
	m.Ready = m.gauges("provisioner_ready", "Whether nodes can be bought with a Provisioner now (1) or not (0), with the reason of its condition Ready.", provisionerLabel, "reason")
	m.Leading = m.gauges("leading", "Whether this agent leads (1) or stands by (0).").WithLabelValues()
	m.Ownerless = m.gauges("ownerless", "Instances and nodes (kind) that nobody manages: their Provisioner is gone, or an instance has had no Node object for longer than the startup timeout.", "kind")
	m.RemovalsRefused = m.gauges("removals_refused", "Nodes whose removal, and Deployments whose surge, the API server has refused (kind), and that are left alone for a while.", "kind")
	m.ClusterRequests = m.counters("kubernetes_requests_total", "Requests to the API server, counting each attempt; code 0 if there was no response.", "verb", "resource", "code")
	m.CloudRequests = m.counters("aws_requests_total", "Requests to AWS, counting each attempt; code 0 if there was no response.", "service", "operation", "code")
	m.Consolidation = newConsolidation(m)
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "packhorse"

// Metric is what the documentation says of one.
type Metric struct {
	Name, Kind, Help string
	Labels           []string
}

// All returns the metrics that are exported.
func (m *Metrics) All() []Metric { return m.listed }

func (m *Metrics) register(c prometheus.Collector, doc Metric) {
	doc.Name = namespace + "_" + doc.Name
	m.listed = append(m.listed, doc)
	m.registry.MustRegister(c)
	if v, ok := c.(partial); ok && slices.Contains(doc.Labels, provisionerLabel) {
		m.byProvisioner = append(m.byProvisioner, v)
	}
}

// provisionerLabel is the label of series that go with their Provisioner.
const provisionerLabel = "provisioner"

// partial has series of which those with some labels can be deleted.
type partial interface {
	DeletePartialMatch(prometheus.Labels) int
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register(v, Metric{name, "counter", help, labels})
	return v
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.register(v, Metric{name, "gauge", help, labels})
	return v
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.register(v, Metric{name, "histogram", help, labels})
	return v
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.register(h, Metric{name, "histogram", help, nil})
	return h
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.GathererFunc(locked(&m.whole, m.registry.Gather)), promhttp.HandlerOpts{})
}

// locked is a function that holds a lock while it reads.
func locked[T any](lock sync.Locker, read func() (T, error)) func() (T, error) {
	return func() (T, error) {
		lock.Lock()
		defer lock.Unlock()
		return read()
	}
}

// Together keeps the metrics from being read until the returned function is called. Gauges that are set meanwhile
// are never seen half built.
func (m *Metrics) Together() (done func()) {
	m.whole.Lock()
	return m.whole.Unlock
}

// Failed counts a call to the cloud that failed.
func (m *Metrics) Failed(call string) { m.CloudErrors.WithLabelValues(call).Inc() }

// Interruption is the reason of a disruption that follows a notice.
const Interruption = "interruption"

// The outcomes of nodes that consolidation has chosen, and those of surges.
const (
	NodeChosen    = "chosen"
	NodeGone      = "gone"
	NodeCalledOff = "called-off"
	SurgeMoved    = "moved"
	SurgeFailed   = "failed"
	SurgeUndone   = "undone"
)

// seriesStay is how long the series of a Provisioner stay that is gone with its nodes, so that Prometheus sees
// the last of it.
const seriesStay = time.Hour

// Follow is called in each turn with the names of the Provisioners that exist or have nodes. What is counted of new ones
// begins, and the series end of those that have been gone for a while. Only one loop calls it.
func (m *Metrics) Follow(there map[string]bool, now time.Time) {
	for name := range there {
		if _, known := m.followed[name]; !known {
			m.begin(name)
		}
		m.followed[name] = now
	}
	for name, last := range m.followed {
		if now.Sub(last) < seriesStay {
			continue
		}
		delete(m.followed, name)
		for _, v := range m.byProvisioner {
			v.DeletePartialMatch(prometheus.Labels{provisionerLabel: name})
		}
	}
}

// begin lets what is counted of a Provisioner begin at 0: Prometheus does not see the
// increase of a series that begins at its first event. Launches have too many labels for it.
func (m *Metrics) begin(provisioner string) {
	for _, reason := range decide.RemovalReasons {
		m.Disruptions.WithLabelValues(provisioner, string(reason))
	}
	m.Disruptions.WithLabelValues(provisioner, Interruption)
	for _, reason := range []offer.RefusalReason{
		offer.RefusedCapacity, offer.RefusedUnsupported, offer.RefusedQuota, offer.RefusedAddresses, offer.RefusedUnauthorized, offer.RefusedEnded, offer.RefusedOther,
	} {
		m.Refusals.WithLabelValues(provisioner, string(reason))
	}
	for _, outcome := range []string{NodeChosen, NodeGone, NodeCalledOff} {
		m.Consolidation.Nodes.WithLabelValues(provisioner, outcome)
	}
	for _, outcome := range []string{SurgeMoved, SurgeFailed, SurgeUndone} {
		m.Surges.WithLabelValues(provisioner, outcome)
	}
	m.Consolidation.Evictions.WithLabelValues(provisioner)
	m.Terminations.WithLabelValues(provisioner)
	m.EvictionsBlocked.WithLabelValues(provisioner)
}

// Registry is where they are registered.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Waited observes the time since a pod was first seen unschedulable.
func (m *Metrics) Waited(h prometheus.Histogram, since time.Time) {
	if !since.IsZero() {
		h.Observe(time.Since(since).Seconds())
	}
}

// KubernetesRequest counts a request to the API server with the HTTP status of its
// answer; 0 for none.
func (m *Metrics) KubernetesRequest(verb, resource string, code int) {
	m.ClusterRequests.WithLabelValues(verb, resource, strconv.Itoa(code)).Inc()
}

// AWSRequest counts a request to AWS with the HTTP status of its answer; 0 for none.
func (m *Metrics) AWSRequest(service, operation string, code int) {
	m.CloudRequests.WithLabelValues(service, operation, strconv.Itoa(code)).Inc()
}

// Drained counts a node whose instance was terminated, the given time after the drain began.
func (m *Metrics) Drained(provisioner string, took time.Duration) {
	m.DrainSeconds.WithLabelValues(provisioner).Observe(took.Seconds())
	m.Terminations.WithLabelValues(provisioner).Inc()
}
