package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// consolidating is the spec of the tests' Provisioner.
const consolidating = "consolidation: {enabled: true}, requirements: [{key: $capacity, operator: In, values: [on-demand]}], disruption: {drift: false, budgets: [{nodes: '100%'}]}"

// sold is a type with one price in zones a, b and c, on demand.
func sold(name string, cpu int64, dollars float64) offer.InstanceType {
	t := size(name, cpu, 4*cpu, 110)
	for i := range t.Offerings {
		t.Offerings[i].Price = offer.Price(dollars * 1e6)
	}
	return t
}

// shop is three types, the most expensive of which costs as much as it is large.
func shop() []offer.InstanceType {
	return []offer.InstanceType{sold("large", 8, 0.4), sold("medium", 4, 0.2), sold("small", 2, 0.1)}
}

// replicas adds running pods of one workload to a node.
func (w *world) replicas(n int, workload, node, text string) *world {
	for range n {
		name := fmt.Sprintf("%s-%d", workload, len(w.in.Snapshot.Pods))
		w.running(name, node, fmt.Sprintf("owner: ReplicaSet/%s, labels: {app: %s}, %s", workload, workload, text))
		p := &w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1]
		p.Since, p.Created, p.Ready = noon.Add(-100*time.Hour), noon.Add(-100*time.Hour), true
	}
	return w
}

// older makes all nodes of the world so old that what pays at all is due.
func (w *world) older() *world {
	for i := range w.in.Snapshot.Nodes {
		w.in.Snapshot.Nodes[i].Created = noon.Add(-100 * time.Hour)
		w.in.Snapshot.Nodes[i].ReadySince = noon.Add(-100 * time.Hour)
	}
	return w
}

// consolidated says in short which nodes a plan consolidates and what it buys for them.
func consolidated(p Plan) string {
	var nodes, types []string
	for _, r := range p.Removals {
		if r.Reason == Consolidated {
			nodes = append(nodes, r.Node)
		}
	}
	for i := range p.Machines {
		if len(p.Machines[i].Moving) > 0 {
			types = append(types, p.Machines[i].Chosen().InstanceType)
		}
	}
	slices.Sort(types)
	return strings.TrimSpace(strings.Join(nodes, " ") + " -> " + strings.Join(types, " "))
}

// why says what holds a node.
func why(p Plan, node string) string {
	if p.Consolidation == nil {
		return "not looked at"
	}
	for _, s := range p.Consolidation.Stays {
		if s.Node == node {
			return s.Why
		}
	}
	for _, s := range p.Consolidation.Steps {
		if slices.Contains(s.Nodes, node) {
			return s.Why
		}
	}
	return ""
}

func TestConsolidation(t *testing.T) {
	const half = "requests: {cpu: 500m, memory: 1Gi}"
	two := func(w *world) {
		w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(2, "web", "n1", half).replicas(1, "web", "n2", half)
	}
	change := func(name string, f func(*cluster.Pod)) func(*world) {
		return func(w *world) {
			for i := range w.in.Snapshot.Pods {
				if p := &w.in.Snapshot.Pods[i]; p.NodeName == name {
					f(p)
				}
			}
		}
	}
	edit := func(name string, f func(*cluster.Node)) func(*world) {
		return func(w *world) {
			for i := range w.in.Snapshot.Nodes {
				if n := &w.in.Snapshot.Nodes[i]; n.Name == name {
					f(n)
				}
			}
		}
	}
	all := func(fs ...func(*world)) func(*world) {
		return func(w *world) {
			for _, f := range fs {
				f(w)
			}
		}
	}
	// alike has two equal nodes, each with a pod, of which that on n1 is changed.
	alike := func(dearer func(*cluster.Pod)) func(*world) {
		return all(func(w *world) {
			w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(1, "web", "n1", half).replicas(1, "web", "n2", half)
		}, change("n1", dearer))
	}
	for name, c := range map[string]struct {
		spec  string
		types []offer.InstanceType
		given func(*world)
		want  string
		holds string // what is said of n2
	}{
		"CONS-001: a dear node is replaced by a cheaper one":             {given: func(w *world) { w.node("n1", "large", "a", nil).replicas(2, "web", "n1", half) }, want: "n1 -> small"},
		"CONS-014: off means off":                                        {spec: "disruption: {drift: false}", given: two, want: "->"},
		"CONS-015: the node with fewer pods goes, and nothing is bought": {types: shop()[1:2], given: two, want: "n2 ->"},
		"CONS-018: a node under a budget that allows nothing stays": {
			types: shop()[1:2], given: all(two, func(w *world) { w.budget("pdb", "app: web2", 0) }, change("n2", func(p *cluster.Pod) { p.Template = relabelled(p.Template, "web2") })), want: "n1 ->",
			holds: "PodDisruptionBudget default/pdb allows no eviction of pod default/web-2 now",
		},
		"a node with data on its own disks stays": {
			types: shop()[1:2], given: func(w *world) {
				w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(4, "web", "n1", half).
					local("n2", "data").replicas(2, "db", "n2", half+", "+claim("data"))
			}, want: "n1 ->", holds: "pod default/db-4 has persistent volume pv-data, which is on the node's own disks",
		},
		"CONS-021: no pods move to a node that is not up": {
			types: shop()[1:2], given: all(two, edit("n1", func(n *cluster.Node) { n.Initialized = false })), want: "->", holds: "node n1, which has room for its pods, is not up yet",
		},
		"CONS-023: a pod that can have no place holds nothing up": {
			types: shop()[1:2], given: all(two, func(w *world) { w.pods(1, "huge", "requests: {cpu: 1000}") }), want: "n2 ->",
		},
		"nor does a pod without another place on a node that is being deleted": {
			types: shop()[1:2], want: "n2 ->", given: all(two, func(w *world) {
				w.node("n3", "medium", "a", nil).replicas(1, "stuck", "n3", half+", nodeSelector: {only: n3}")
			}, edit("n3", func(n *cluster.Node) { n.Labels["only"], n.Deleting = "n3", true })),
		},
		"CONS-026: pods that must be apart stay apart": {
			types: shop()[1:2], want: "->", given: func(w *world) {
				const apart = half + ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: web}}}]}}"
				for i, zone := range []string{"a", "b", "c"} {
					w.node(fmt.Sprintf("n%d", i+1), "medium", zone, nil).replicas(1, "web", fmt.Sprintf("n%d", i+1), apart)
				}
			},
		},
		"CONS-038: three nodes become one": {given: func(w *world) {
			for i := range 3 {
				w.node(fmt.Sprintf("n%d", i+1), "large", "a", nil).replicas(1, "web", fmt.Sprintf("n%d", i+1), "requests: {cpu: 1, memory: 1Gi}")
			}
		}, want: "n1 n2 n3 -> medium"},
		"DISR-036: two large nodes and a small one, which could be bought again": {want: "n1 n2 ->", given: func(w *world) {
			for i, typ := range []string{"large", "large", "small"} {
				w.node(fmt.Sprintf("n%d", i+1), typ, "a", nil).replicas(1, "web", fmt.Sprintf("n%d", i+1), half)
			}
		}},
		"CONS-039: two nodes of the cheapest type are not swapped for another": {types: shop()[2:], want: "n2 ->", given: func(w *world) {
			w.node("n1", "small", "a", nil).node("n2", "small", "a", nil).replicas(2, "web", "n1", half).replicas(1, "web", "n2", half)
		}},
		"CONS-008: nothing cheaper may be bought": {
			types: []offer.InstanceType{sold("medium", 4, 0.2), sold("other", 3, 0.25)}, want: "->",
			given: func(w *world) { w.node("n1", "medium", "a", nil).replicas(2, "web", "n1", half) },
		},
		"kube-scheduler would use the room of a replacement for a pod that has room elsewhere": {
			types: []offer.InstanceType{sold("large", 8, 0.25), sold("medium", 4, 0.2)}, want: "->",
			given: func(w *world) {
				w.node("n1", "medium", "a", ofOthers).node("n2", "large", "a", nil).replicas(1, "other", "n1", "requests: {cpu: 3400m, memory: 1Gi}")
				w.replicas(1, "big", "n2", "requests: {cpu: 3, memory: 1Gi}").replicas(1, "any", "n2", half)
				w.replicas(1, "ours", "n2", "requests: {cpu: 450m, memory: 1Gi}, nodeSelector: {karpenter.sh/provisioner-name: default}")
			},
			holds: "replacing it saves nothing, because kube-scheduler would leave some of its pods without room",
		},
		"CONS-003, CONS-071: a budget that allows nothing": {given: func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("pdb", "app: web", 0)
		}, want: "->", holds: "PodDisruptionBudget default/pdb allows no eviction of pod default/web-0 now"},
		"CONS-005: a budget of another namespace does not count": {given: func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("pdb", "app: web", 0)
			w.in.Snapshot.PodDisruptionBudgets[0].Namespace = "other"
		}, want: "n2 -> small"},
		"CONS-075: two budgets, which the Eviction API refuses": {given: func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("one", "app: web", 5).budget("two", "app: web", 5)
		}, want: "->", holds: "pod default/web-0 is under PodDisruptionBudgets one and two, so it cannot be evicted"},
		"a budget that allows nothing, and surge, which evicts nothing": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("pdb", "app: web", 0)
		}, change("n2", func(p *cluster.Pod) { p.Covered = true })), want: "n2 -> small"},
		"a pod that surge cannot move now": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half)
		}, change("n2", func(p *cluster.Pod) { p.Covered, p.Held = true, "was not moved" })), want: "->", holds: "pod default/web-0 was not moved"},
		"DISR-032: pods that are not ready may go anyway": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("one", "app: web", 0)
			w.in.Snapshot.PodDisruptionBudgets[0].UnreadyAnyway = true
		}, change("n2", func(p *cluster.Pod) { p.Ready = false })), want: "n2 -> small"},
		"DISR-032: pods that are not ready may go where enough others are": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("one", "app: web", 0)
			w.in.Snapshot.PodDisruptionBudgets[0].Healthy = true
		}, change("n2", func(p *cluster.Pod) { p.Ready = false })), want: "n2 -> small"},
		"DISR-032: pods that are not ready stay where too few others are": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("one", "app: web", 0)
		}, change("n2", func(p *cluster.Pod) { p.Ready = false })), want: "->", holds: "PodDisruptionBudget default/one allows no eviction of pod default/web-0 now"},
		"two budgets over pods that have not been started": {given: all(func(w *world) {
			w.node("n2", "large", "a", nil).replicas(3, "web", "n2", half).budget("one", "app: web", 0).budget("two", "app: web", 0)
		}, change("n2", func(p *cluster.Pod) { p.Running, p.Ready = false, false })), want: "n2 -> small"},
		"CONS-032, CONS-033: a pod that must not be evicted": {given: all(two, change("n2", func(p *cluster.Pod) { p.Template = protected(p.Template, true, 0) })), types: shop()[1:2], want: "n1 ->", holds: "pod default/web-2 must not be disrupted"},
		"DISR-027: a protection that has not run out": {given: all(two, change("n2", func(p *cluster.Pod) {
			p.Template, p.Since = protected(p.Template, false, 30*time.Minute), noon.Add(-29*time.Minute)
		})), types: shop()[1:2], want: "n1 ->", holds: "pod default/web-2 must not be disrupted for 30m after it came"},
		"DISR-027: a protection that has": {given: all(two, edit("n1", func(n *cluster.Node) { n.Annotations[api.AnnotationDoNotDisrupt] = "true" }), change("n2", func(p *cluster.Pod) {
			p.Template, p.Since = protected(p.Template, false, 30*time.Minute), noon.Add(-31*time.Minute)
		})), types: shop()[1:2], want: "n2 ->"},
		"CONS-066: a node without a zone":                                                {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) { delete(n.Labels, api.LabelZone) })), want: "n1 ->", holds: "it has no label topology.kubernetes.io/zone, so its price is not known"},
		"an old node is not bought again to take in the pod of one that has just filled": {given: all(two, change("n2", func(p *cluster.Pod) { p.Since = noon.Add(-31 * time.Minute) })), types: shop()[1:2], want: "n2 ->"},
		"CONS-065: a node without a capacity type":                                       {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) { delete(n.Labels, api.LabelCapacityType) })), want: "n1 ->", holds: "it has no label karpenter.sh/capacity-type, so its price is not known"},
		"a node in a zone where nothing is sold any more": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) {
			n.Labels[api.LabelZone], n.Annotations[api.AnnotationHourlyPrice] = "z", "200000"
		})), want: "n2 ->"},
		"a node of a type that is not sold any more": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) {
			n.Labels[api.LabelInstanceType], n.Annotations[api.AnnotationHourlyPrice] = "old", "200000"
		})), want: "n2 ->"},
		"nobody knows what it costs": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) {
			n.Labels[api.LabelZone], n.Annotations[api.AnnotationHourlyPrice] = "z", "-1"
		})), want: "n1 ->", holds: "its price is not known"},
		"CONS-069: pods are on their way to it": {types: shop()[1:2], given: all(two, func(w *world) {
			w.pods(1, "new", half)
			w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].NominatedNode = "n2"
		}), want: "->"},
		"CONS-061: it goes already": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) { n.Deleting = true })), want: "->"},
		"DISR-019: Never a source, and takes pods": {
			types: shop()[1:2], want: "n2 ->", given: func(w *world) {
				w.provisioner("never", strings.Replace(consolidating, "drift", "consolidateAfter: Never, drift", 1))
				w.node("n1", "medium", "a", func(n *cluster.Node) { n.Provisioner, n.Labels[api.LabelProvisioner] = "never", "never" })
				w.node("n2", "medium", "a", nil).replicas(1, "web", "n1", half).replicas(3, "web", "n2", half)
			},
		},
		"DISR-021: pods of DaemonSets do not disturb": {types: shop()[1:2], given: all(two, func(w *world) {
			w.running("ds", "n2", "owner: DaemonSet/agent, requests: {cpu: 100m}")
			w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].Since = noon
		}), want: "n2 ->"},
		"DISR-022: a destination where a pod has just come takes none": {types: shop()[1:2], given: all(two, change("n1", func(p *cluster.Pod) { p.Since = noon.Add(-time.Second) })), want: "->", holds: "pods came to node n1, which has room for its pods, or left it less than 30s ago"},
		"DISR-018: only empty nodes":                                   {spec: "ttlSecondsAfterEmpty: 30, disruption: {drift: false}", given: func(w *world) { w.node("n2", "large", "a", nil).replicas(1, "web", "n2", half) }, want: "->"},
		"DISR-025: a StatefulSet's pod comes back": {types: shop()[1:2], given: all(two, func(w *world) {
			w.running("db-0", "n2", "owner: StatefulSet/db, requests: {cpu: 100m}")
			p := &w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1]
			p.State, p.StopBy = cluster.PodTerminating, noon
		}), want: "n1 ->", holds: "pod default/db-0 of a StatefulSet is being replaced"},
		"DISR-029: false protects nothing": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) { n.Annotations[api.AnnotationDoNotDisrupt] = "false" })), want: "n2 ->"},
		"room on a node of a node group": {types: shop()[1:2], given: func(w *world) {
			w.node("n1", "medium", "a", ofOthers).node("n2", "medium", "a", nil).replicas(2, "web", "n1", half).replicas(2, "web", "n2", half)
		}, want: "n2 ->"},
		"a node of a node group that is not ready": {types: shop()[1:2], given: func(w *world) {
			w.node("n1", "medium", "a", func(n *cluster.Node) { ofOthers(n); n.Ready = false })
			w.node("n2", "medium", "a", nil).replicas(2, "web", "n1", half).replicas(2, "web", "n2", half)
		}, want: "->"},
		"do-not-consolidate on the node": {types: shop()[1:2], given: all(two, edit("n2", func(n *cluster.Node) { n.Annotations[api.AnnotationDoNotConsolidate] = "true" })), want: "n1 ->"},
		"DISR-046: one large becomes two small": {types: []offer.InstanceType{sold("small", 2, 0.1), sold("vast", 16, 0.8)}, given: func(w *world) {
			w.node("n1", "vast", "a", nil).replicas(6, "web", "n1", half)
		}, want: "n1 -> small small"},
		"DISR-047: five nodes of which none can be emptied": {given: func(w *world) {
			for i := range 5 {
				w.node(fmt.Sprintf("n%d", i+1), "medium", "a", nil).replicas(1, "web", fmt.Sprintf("n%d", i+1), "requests: {cpu: 2340m, memory: 2Gi}")
			}
		}, want: "n1 n2 n3 -> large"},
		"DISR-007: a budget of 0 for all":            {spec: strings.Replace(consolidating, "'100%'", "'0'", 1), types: shop()[1:2], given: two, want: "->", holds: "a disruption budget allows no more now"},
		"DISR-006: a budget of 0 for another reason": {spec: strings.Replace(consolidating, "[{nodes: '100%'}]", "[{nodes: '0', reasons: [drift]}]", 1), types: shop()[1:2], given: two, want: "n2 ->"},
		"no window is open":                          {spec: strings.Replace(consolidating, "drift", "windows: [{schedule: '0 22 * * *', duration: 8h}], drift", 1), types: shop()[1:2], given: two, want: "->", holds: "none of the windows of provisioner default is open"},
		"a window is open where it is evening":       {spec: strings.Replace(consolidating, "drift", "windows: [{schedule: '0 20 * * *', timeZone: Asia/Tokyo, duration: 2h}], drift", 1), types: shop()[1:2], given: two, want: "n2 ->"},
		"evictionCost Never":                         {spec: strings.Replace(consolidating, "drift", "evictionCost: Never, drift", 1), types: shop()[1:2], given: two, want: "->", holds: "not looked at"},
		"CONS-020: a pod without a controller":       {types: shop()[1:2], given: all(two, change("n2", func(p *cluster.Pod) { p.Owner = cluster.Owner{} })), want: "n1 ->", holds: "pod default/web-2 has no controller that would replace it"},
		"a Job's pods are waited for":                {types: shop()[1:2], given: all(two, change("n2", func(p *cluster.Pod) { p.Owner.Kind = "Job" })), want: "n1 ->"},
		"CONS-057: what was done is stable":          {types: shop()[1:2], given: func(w *world) { w.node("n1", "medium", "a", nil).replicas(6, "web", "n1", half) }, want: "->"},
		"CONS-053: of equal nodes the one whose pods count less": {types: shop()[1:2], given: all(func(w *world) {
			w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(1, "web", "n1", half).replicas(2, "web", "n2", half)
		}, change("n1", func(p *cluster.Pod) { t := *p.Template; t.Priority = 1 << 28; p.Template = &t })), want: "n2 ->"},
		"CONS-050: of equal nodes the one whose pod has the lower deletion cost": {types: shop()[1:2], given: alike(func(p *cluster.Pod) { p.DeletionCost = 1 }), want: "n2 ->"},
		"CONS-052: of equal nodes the one whose pod has the lower priority":      {types: shop()[1:2], given: alike(func(p *cluster.Pod) { t := *p.Template; t.Priority = 1; p.Template = &t }), want: "n2 ->"},
		"CONS-053: one pod of a high priority counts less than two": {types: shop()[1:2], given: all(func(w *world) {
			w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(1, "web", "n1", half).replicas(2, "web", "n2", half)
		}, change("n1", func(p *cluster.Pod) { t := *p.Template; t.Priority = 1_000_000; p.Template = &t })), want: "n1 ->"},
		"CONS-046: little lifetime left": {spec: "ttlSecondsUntilExpired: 363600, " + consolidating, types: shop()[1:2], given: all(two, edit("n1", func(n *cluster.Node) { n.Annotations["old"] = "true" })), want: "n1 ->"},
	} {
		t.Run(name, func(t *testing.T) {
			types := c.types
			if types == nil {
				types = shop()
			}
			spec := c.spec
			if spec == "" {
				spec = consolidating
			}
			w := newWorld(t, types).provisioner("default", spec)
			c.given(w)
			w.older()
			for i := range w.in.Snapshot.Nodes {
				if n := &w.in.Snapshot.Nodes[i]; n.Annotations["old"] != "" {
					n.Created = noon.Add(-100*time.Hour - 55*time.Minute)
				}
			}
			plan := w.decide()
			verify(t, &w.in, &plan)
			if got := consolidated(plan); got != c.want {
				t.Errorf("got %q, want %q; n1: %s; n2: %s", got, c.want, why(plan, "n1"), why(plan, "n2"))
			}
			if got := why(plan, "n2"); c.holds != "" && got != c.holds {
				t.Errorf("n2: %q, want %q", got, c.holds)
			}
		})
	}
}

// A node of which no pod would come back elsewhere says why it stays: without its pods, not the same pods run for less.
func TestConsolidationOfPodsThatDoNotComeBack(t *testing.T) {
	for name, owners := range map[string][]string{"all": {"", ""}, "one of two": {"", "ReplicaSet"}} {
		w := newWorld(t, shop()[1:2]).provisioner("default", consolidating)
		w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil).replicas(3, "web", "n1", halfCore).replicas(len(owners), "bare", "n2", "requests: {cpu: 100m}")
		w.older().in.Settings.EvictOwnerless = true
		for i, kind := range owners {
			w.in.Snapshot.Pods[3+i].Owner.Kind = kind
		}
		plan := w.decide()
		goes, says := consolidated(plan) == "n2 ->", why(plan, "n2")
		if stays := name == "all"; goes == stays || stays != (says == "no controller would create any of its pods again on another node") {
			t.Errorf("%s: it goes: %v; n2: %q", name, goes, says)
		}
	}
}

func relabelled(t *cluster.Template, app string) *cluster.Template {
	out := *t
	out.Labels = map[string]string{"app": app}
	return &out
}

func protected(t *cluster.Template, always bool, d time.Duration) *cluster.Template {
	out := *t
	out.DoNotDisrupt, out.DoNotDisruptFor = always, d
	return &out
}

func (w *world) budget(name, selector string, allowed int32) *world {
	b := cluster.PodDisruptionBudget{Namespace: "default", Name: name, DisruptionsAllowed: allowed}
	read(w.t, "matchLabels: {"+selector+"}", &b.Selector)
	w.in.Snapshot.PodDisruptionBudgets = append(w.in.Snapshot.PodDisruptionBudgets, b)
	return w
}

// collapsed is a cluster of a thousand nodes of which three quarters of the pods have left.
func collapsed(t testing.TB, nodes int) *world {
	w := newWorld(t, realTypes(t)).provisioner("default", consolidating)
	w.in.Provisioners[0].Spec = w.in.Provisioners[0].Spec.Defaulted()
	r := rand.New(rand.NewPCG(1, 2))
	shapes := make([]string, 40)
	for i := range shapes {
		shapes[i] = fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 50*(1+r.IntN(16)), 128*(1+r.IntN(24)))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%04d", i)
		w.node(name, "m6i.xlarge", []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3], nil)
		for range 10 {
			if k := r.IntN(40); r.IntN(4) == 0 {
				w.replicas(1, fmt.Sprintf("app%d", k), name, shapes[k])
			}
		}
	}
	return w.older()
}

func BenchmarkConsolidateCollapse(b *testing.B) {
	w := collapsed(b, 1000)
	w.in.Snapshot.Sort()
	b.ReportAllocs()
	var plan Plan
	for b.Loop() {
		plan = Decide(w.in)
	}
	going := 0
	for _, s := range plan.Consolidation.Steps {
		going += len(s.Nodes)
	}
	b.ReportMetric(float64(going), "nodes")
	b.ReportMetric(float64(len(plan.Consolidation.Steps)), "steps")
}

// A replacement is bought before its nodes go, so that a limit has to allow both. Near the limit
// it allows one node at a time, although two together would save more.
func TestConsolidationNearALimit(t *testing.T) {
	wide, dense := size("wide", 8, 32, 110), size("dense", 4, 32, 110)
	w := newWorld(t, []offer.InstanceType{dense, wide}).provisioner("default", strings.Replace(consolidating, "100%", "10%", 1)+", limits: {resources: {cpu: 100}}")
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		w.node(name, "wide", "a", nil).replicas(1, "web", name, "requests: {cpu: 1, memory: 26Gi}")
	}
	plan := w.older().decide()
	verify(t, &w.in, &plan)
	if got, want := consolidated(plan), "n00 -> dense"; got != want {
		t.Errorf("got %q, want %q: %s", got, want, why(plan, "n00"))
	}
}
