package decide

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func cordoned(n *cluster.Node) { n.Unschedulable = true }

// spreads spells several required spreads of the pods app=x.
func spreads(keys ...string) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		parts[i] = "{maxSkew: 1, topologyKey: " + key + ", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}"
	}
	return "labels: {app: x}, topologySpreadConstraints: [" + strings.Join(parts, ", ") + "]"
}

func onlySmall() []offer.InstanceType { return []offer.InstanceType{size("small", 2, 2, 5)} }

// TestRulesOfPodsOnOtherNodes has what kube-scheduler counts besides the pods of a
// plan: those on nodes that take none, and those of DaemonSets.
func TestRulesOfPodsOnOtherNodes(t *testing.T) {
	check(t, []fact{
		{id: "a cordoned node's pods repel", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b")).node("n", "std", "a", cordoned).
				running("r", "n", affine("podAntiAffinity", "$zone", "x")).pods(1, "p", "labels: {app: x}")
		}, see: func(p Plan) string { return view(p, byZone) }, want: "b(p)"},
		{id: "a cordoned node's pods attract", given: func(w *world) {
			w.node("n", "std", "c", cordoned).running("r", "n", "labels: {app: x}").pods(1, "p", affine("podAffinity", "$zone", "x"))
		}, see: func(p Plan) string { return view(p, byZone) }, want: "c(p)"},
		{id: "a cordoned node is a domain", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b")).node("n", "std", "c", cordoned).pods(3, "p", spread("$zone"))
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "1 a, 1 b, 1 pending"},
		{id: "DaemonSet pods of planned machines repel", given: func(w *world) {
			w.daemonSet("ds", "{labels: {app: x}, nodeSelector: {team: a}}").
				provisioner("team", "{weight: 10, labels: {team: a}}").provisioner("default", "{}").
				pods(1, "p", affine("podAntiAffinity", "$zone", "x"))
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "default(p)"},
		{id: "DaemonSet pods of planned machines attract", given: func(w *world) {
			w.daemonSet("ds", "labels: {app: x}").pods(2, "p", affine("podAffinity", "$zone", "x"))
		}, want: "small(p1 p2)"},
		{id: "DaemonSet pods are followed", given: func(w *world) {
			w.daemonSet("ds", "labels: {app: x}").pods(2, "p", affine("podAffinity", "$host", "x"))
		}, want: "small(p1 p2)"},
		{id: "DaemonSet pods are on every node of a spread", types: onlySmall, given: func(w *world) {
			w.daemonSet("ds", "labels: {app: x}").pods(2, "p", spread("$host"))
		}, see: types, want: "2 small"},
		{id: "DaemonSet pods count by zone", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b")).daemonSet("ds", "labels: {app: x}").
				pods(4, "p", "{requests: {cpu: 1}, "+spread("$zone")+"}")
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "2 a, 2 b"},
		{id: "a DaemonSet's anti-affinity", given: func(w *world) {
			w.daemonSet("ds", "{nodeSelector: {team: a}, "+affine("podAntiAffinity", "$host", "x")+"}").
				provisioner("team", "{weight: 10, labels: {team: a}}").provisioner("default", "{}").pods(1, "p", "labels: {app: x}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "default(p)"},
	})
}

// stopping adds a pod on a node that was asked to stop some time ago and may take an hour.
func (w *world) stopping(name, node string, since time.Duration, text string) *world {
	p := w.pod(name, text)
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: noon.Add(time.Hour - since)}, ptr.To[int64](3600)
	w.add(p)
	return w
}

// TestRulesOfPodsThatStop: pods that take long to stop keep others off their node and out of its domains
// as long as they are there, for everything but spreads. Those that may have stopped soon do not.
func TestRulesOfPodsThatStop(t *testing.T) {
	const app, port = "labels: {app: x}", "ports: [{hostPort: 80, containerPort: 80}]"
	for name, c := range map[string]struct{ stops, waits, soon, late string }{
		"a host port":              {port, port, "n<-(p)", "small(p)"},
		"anti-affinity to it":      {app, affine("podAntiAffinity", "$host", "x"), "n<-(p)", "small(p)"},
		"its own anti-affinity":    {affine("podAntiAffinity", "$host", "x"), app, "n<-(p)", "small(p)"},
		"anti-affinity over zones": {app, affine("podAntiAffinity", "$zone", "x"), "n<-(p)", "small(p)"},
		"its own over zones":       {affine("podAntiAffinity", "$zone", "x"), app, "n<-(p)", "small(p)"},
		"affinity to it":           {app, affine("podAffinity", "$host", "x"), "pending(p)", "n<-(p)"},
		"a spread over nodes":      {app, spread("$host"), "n<-(p)", "n<-(p)"},
		"a spread over zones":      {app, spread("$zone"), "n<-(p)", "n<-(p)"},
	} {
		given := func(since time.Duration) func(*world) {
			return func(w *world) { w.node("n", "std", "a", nil).stopping("s", "n", since, c.stops).pods(1, "p", c.waits) }
		}
		check(t, []fact{
			{id: name + ", soon", given: given(time.Minute - 1), want: c.soon},
			{id: name + ", late", given: given(time.Minute), want: c.late},
		})
	}
}

// TestRulesOfLabelsThatAreMissing has constraints over labels that some or all
// nodes lack.
func TestRulesOfLabelsThatAreMissing(t *testing.T) {
	anyway := strings.ReplaceAll(spread("tier"), "DoNotSchedule", "ScheduleAnyway")
	check(t, []fact{
		{id: "only the spreading pods need the label", given: func(w *world) {
			w.pods(1, "plain", "labels: {app: x}").pods(1, "spread", spread("tier"))
		}, want: "small(plain), pending(spread)"},
		{id: "a spread that is only wished for", given: func(w *world) { w.pods(2, "p", anyway) }, want: "small(p1 p2)"},
		{id: "a label that leaves the choice of its value", given: func(w *world) {
			w.provisioner("default", wants("tier Exists")).pods(2, "p", spread("tier"))
		}, see: types, want: "1 small"},
		{id: "a domain has the keys of all spreads", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b", "tier In gold")).
				node("n", "std", "c", nil).pods(4, "p", spreads("$zone", "tier"))
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "2 a, 2 b"},
		{id: "a spread over everything counts nothing", given: func(w *world) {
			w.pods(3, "p", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: $host, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]")
		}, see: types, want: "1 small"},
		{id: "nothing spreads on a node without a host name", given: func(w *world) {
			w.node("n", "std", "a", func(n *cluster.Node) { delete(n.Labels, api.LabelHostname) }).pods(1, "p", spread("$host")).pods(1, "q", "{}")
		}, want: "small(p), n<-(q)"},
		{id: "a node that is not the one to be avoided", given: func(w *world) {
			w.pods(1, "p", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: NotIn, values: [gone]}]}]}}}")
		}, want: "small(p)"},
	})
}

// TestRulesOfGroups has pods that must share a node with each other.
func TestRulesOfGroups(t *testing.T) {
	together := "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: x}}}]}}"
	check(t, []fact{
		{id: "together on a node and spread over zones", given: func(w *world) {
			w.pods(3, "p", "{"+together+", "+spread("$zone")+"}")
		}, want: "small(p1), pending(p2 p3)"},
		{id: "together, and plain pods of a zone constraint", given: func(w *world) {
			w.pods(2, "p", "{labels: {app: x}, "+together+"}").pods(1, "s", spread("$zone"))
		}, see: types, want: "1 small"},
		{id: "plain pods may begin the group", types: onlySmall, given: func(w *world) {
			w.node("n", "small", "a", nil).pods(2, "plain", "{labels: {app: x}, requests: {cpu: 1.9}}").
				pods(2, "p", "{labels: {app: x}, requests: {cpu: 0.9}, "+together+"}")
		}, want: "small(plain2), n<-(plain1), pending(p1 p2)"},
		{id: "one of the group fits nowhere", given: func(w *world) {
			w.pods(1, "large", "{labels: {app: x}, requests: {cpu: 100}, "+together+"}").pods(2, "p", "{labels: {app: x}, "+together+"}")
		}, want: "small(p1 p2), pending(large)"},
		{id: "more than a machine holds", types: onlySmall, given: func(w *world) {
			w.pods(4, "p", "{labels: {app: x}, requests: {cpu: 0.6}, "+together+"}")
		}, want: "small(p1 p2 p3), pending(p4)"},
		{id: "the node with the most room", types: onlySmall, given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 6}}").
				node("n1", "small", "a", nil).running("r1", "n1", "requests: {cpu: 1}").
				node("n2", "small", "a", nil).pods(4, "p", "{labels: {app: x}, requests: {cpu: 0.6}, "+together+"}")
		}, want: "n2<-(p1 p2 p3), pending(p4)"},
	})
}

// TestRulesOfOrder has what depends on which pods come first, and on the room that
// is left once a limit binds.
func TestRulesOfOrder(t *testing.T) {
	check(t, []fact{
		{id: "plain pods come after those that are spread", types: onlySmall, given: func(w *world) {
			w.provisioner("default", "{"+wants("$zone In a")+", limits: {resources: {cpu: 4}}}").node("n", "small", "b", nil).running("r", "n", "requests: {cpu: 1.8}").
				pods(2, "plain", "{labels: {app: x}, requests: {cpu: 0.5}}").pods(1, "spread", "{requests: {cpu: 0.6}, "+spread("$zone")+"}")
		}, want: "small(plain1 plain2 spread)"},
		{id: "all terms of an affinity mean the same pods", given: func(w *world) {
			w.node("n", "std", "a", nil).running("r1", "n", "labels: {app: x}").running("r2", "n", "labels: {tier: t}").
				pods(1, "p", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["+
					"{topologyKey: $zone, labelSelector: {matchLabels: {app: x}}}, {topologyKey: $zone, labelSelector: {matchLabels: {tier: t}}}]}}")
		}, want: "pending(p)"},
		{id: "room on planned machines once a limit binds", types: func() []offer.InstanceType {
			return []offer.InstanceType{with(size("gpu", 4, 4, 5), "nvidia.com/gpu", 1), size("plain", 4, 4, 5)}
		}, given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 4}}").pods(1, "gpu", "limits: {nvidia.com/gpu: 1}").pods(1, "p", "{}")
		}, want: "gpu(gpu p)"},
		{id: "a type with devices where limits leave no other", types: func() []offer.InstanceType {
			return []offer.InstanceType{with(size("gpu", 4, 4, 5), "nvidia.com/gpu", 1), size("plain", 4, 4, 5)}
		}, given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 4}}").provisioner("gpus", wants("$type In gpu")).pods(2, "p", "requests: {cpu: 3}")
		}, see: types, want: "1 gpu, 1 plain"},
	})
}
