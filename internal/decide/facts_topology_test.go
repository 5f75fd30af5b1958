package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// spread spells a required topology spread with maxSkew 1 over the pods app=x.
func spread(key string, more ...string) string {
	return "labels: {app: x}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: " + key +
		", whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}" + strings.Join(more, "") + "}]"
}

// affine spells a required pod affinity (or anti-affinity) to the pods app=target.
func affine(kind, key, target string) string {
	return "affinity: {" + kind + ": {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + key +
		", labelSelector: {matchLabels: {app: " + target + "}}}]}}"
}

// perDomain counts the pods app=x by a label of their nodes, running ones and
// planned ones together.
func perDomain(w *world, p Plan, property func(*Machine) string, key string) string {
	count := map[string]int{}
	labels := map[string]string{}
	for _, n := range w.in.Snapshot.Nodes {
		labels[n.Name] = n.Labels[key]
	}
	for _, pod := range w.in.Snapshot.Pods {
		if pod.State == cluster.PodBound && pod.Template.Labels["app"] == "x" && pod.Namespace == "default" && labels[pod.NodeName] != "" {
			count[labels[pod.NodeName]]++
		}
	}
	for _, b := range p.Bindings {
		count[labels[b.Node]]++
	}
	for i := range p.Machines {
		count[property(&p.Machines[i])] += len(p.Machines[i].Pods)
	}
	var parts []string
	for _, domain := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s:%d", domain, count[domain]))
	}
	if len(p.Unplaced) > 0 {
		parts = append(parts, fmt.Sprintf("pending:%d", len(p.Unplaced)))
	}
	return strings.Join(parts, " ")
}

// round decides and lets the plan come true: machines become nodes, pods run,
// nodes that are being deleted or should go are gone.
func (w *world) round() Plan {
	plan := w.decide()
	verify(w.t, &w.in, &plan)
	place := map[cluster.PodKey]string{}
	for _, b := range plan.Bindings {
		place[b.Pod] = b.Node
	}
	for i := range plan.Machines {
		m := &plan.Machines[i]
		name := fmt.Sprintf("made-%03d", len(w.in.Snapshot.Nodes)+1)
		chosen := m.Chosen()
		w.node(name, chosen.InstanceType, chosen.Zone, func(n *cluster.Node) {
			n.Provisioner, n.Created = m.Provisioner, noon
			n.Labels[api.LabelCapacityType] = chosen.CapacityType
			maps.Copy(n.Labels, m.Labels)
			n.Taints = m.Taints
		})
		for _, pod := range m.Pods {
			place[pod] = name
		}
		for _, move := range m.Moving {
			place[move.Pod] = name
		}
	}
	gone := map[string]bool{}
	w.in.Snapshot.Nodes = slices.DeleteFunc(w.in.Snapshot.Nodes, func(n cluster.Node) bool {
		gone[n.Name] = n.Deleting || slices.ContainsFunc(plan.Removals, func(r Removal) bool { return r.Node == n.Name })
		return gone[n.Name]
	})
	for i := range w.in.Snapshot.Pods {
		if pod := &w.in.Snapshot.Pods[i]; place[pod.PodKey] != "" {
			pod.NodeName, pod.State = place[pod.PodKey], cluster.PodBound
			pod.Owner = cluster.Owner{Kind: "ReplicaSet", Name: "web"}
		} else if gone[pod.NodeName] {
			pod.NodeName, pod.State = "", cluster.PodPending
		}
	}
	return plan
}

func TestTopologySpreadFacts(t *testing.T) {
	zones := "$zone"
	capacity := "$capacity"
	for _, c := range []struct {
		id, provisioner string
		given           func(*world)
		key             string
		want            string
	}{
		{"TOPO-007", "{labels: {$zone: a}, " + wants("$zone In a b") + "}", func(w *world) { w.pods(4, "p", spread(zones)) }, zones, "a:4"},
		{"TOPO-009", wants("$zone In a b"), func(w *world) {
			w.node("n", "small", "c", nil).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").pods(6, "p", "{requests: {cpu: 1.1}, "+spread(zones)+"}")
		}, zones, "a:2 b:2 c:1 pending:2"},
		{"TOPO-011", "{}", func(w *world) {
			for i, name := range []string{"n1", "n2", "n3"} {
				w.node(name, "small", "a", nil).running(fmt.Sprintf("r%d", i), name, "{labels: {app: x}, requests: {cpu: 1.1}}")
			}
			w.pods(3, "p", "{requests: {cpu: 1.1}, "+spread(zones)+"}")
		}, zones, "a:3 b:2 c:1"},
		{"TOPO-012", wants("$zone In b c"), func(w *world) {
			w.node("n", "small", "a", nil).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").pods(10, "p", "{requests: {cpu: 1.1}, "+spread(zones)+"}")
		}, zones, "a:1 b:2 c:2 pending:6"},
		{"TOPO-014", "{}", func(w *world) {
			w.node("na", "small", "a", nil).running("r1", "na", "labels: {app: x}").running("r2", "na", "labels: {app: x}").
				node("nb", "small", "b", nil).running("r3", "nb", "labels: {app: x}").running("r4", "nb", "{}").
				running("r5", "nb", "{labels: {app: x}, namespace: other}").
				node("nz", "small", "a", func(n *cluster.Node) { delete(n.Labels, api.LabelZone) }).running("r6", "nz", "labels: {app: x}").
				pods(2, "p", spread(zones))
		}, zones, "a:2 b:2 c:1"},
		{"TOPO-014 pods that are pending or end", "{}", func(w *world) {
			w.node("na", "small", "a", nil).running("r1", "na", "labels: {app: x}").running("r2", "na", "labels: {app: x}").
				node("nb", "small", "b", nil).running("r3", "nb", "labels: {app: x}").
				pods(2, "p", spread(zones)).pods(2, "q", "{labels: {app: x}, nodeSelector: {$zone: nowhere}}")
			for _, phase := range []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded} {
				node := strings.ToLower(string(phase))
				w.node(node, "small", "c", nil)
				for i := range 2 {
					p := w.pod(fmt.Sprintf("%s-%d", node, i), "labels: {app: x}")
					p.Spec.NodeName, p.Status.Phase = node, phase
					if at := deletedAt(); phase == corev1.PodRunning {
						p.DeletionTimestamp = &at
					}
					w.add(p)
				}
			}
		}, zones, "a:2 b:2 c:1 pending:2"},
		{"TOPO-017", wants("$zone In a b"), func(w *world) { w.pods(3, "p", spread(zones, ", minDomains: 3")) }, zones, "a:1 b:1 pending:1"},
		{"TOPO-019", "{}", func(w *world) { w.pods(11, "p", spread(zones, ", minDomains: 2")) }, zones, "a:4 b:4 c:3"},
		{"TOPO-024", "{}", func(w *world) { w.pods(4, "p", spread(capacity)) }, capacity, "on-demand:2 spot:2"},
		{"TOPO-026", wants("$capacity In on-demand"), func(w *world) {
			w.node("n", "small", "a", func(n *cluster.Node) { n.Labels[api.LabelCapacityType] = "spot" }).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").
				pods(5, "p", "{requests: {cpu: 1.1}, "+spread(capacity)+"}")
		}, capacity, "on-demand:2 spot:1 pending:3"},
		{"TOPO-029", "{}", func(w *world) {
			w.node("n", "small", "a", nil).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").
				pods(5, "p", "{"+requires("$zone In b", "$capacity In spot")+", "+spread(capacity)+"}")
		}, capacity, "on-demand:1 spot:5"},
		{"TOPO-030", wants("$capacity In spot"), func(w *world) {
			w.node("n", "small", "a", nil).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").pods(5, "p", "{requests: {cpu: 2}, "+spread(capacity)+"}")
		}, capacity, "on-demand:1 spot:2 pending:3"},
		{"TOPO-039", "{}", func(w *world) { w.pods(10, "p", "{"+requires("$zone In a b")+", "+spread(zones)+"}") }, zones, "a:5 b:5"},
		{"TOPO-040", "{}", func(w *world) {
			w.pods(6, "p", "{"+requires("$zone In a b")+", "+spread(zones)+"}").round()
			w.pods(1, "q", "{"+requires("$zone In b c")+", "+spread(zones)+"}").round()
			w.pods(5, "r", spread(zones))
		}, zones, "a:4 b:4 c:4"},
		{"TOPO-041", "{}", func(w *world) {
			w.pods(6, "p", "{affinity: {nodeAffinity: {"+prefers("1 $zone In a b")+"}}, "+spread(zones)+"}")
		}, zones, "a:2 b:2 c:2"},
		{"TOPO-043", "{}", func(w *world) {
			w.pods(3, "p", "{"+requires("$capacity In spot")+", "+spread(capacity)+"}").round()
			w.pods(1, "q", "{"+requires("$capacity In on-demand spot")+", "+spread(capacity)+"}").round()
			w.pods(5, "r", spread(capacity))
		}, capacity, "on-demand:5 spot:4"},
		{"TOPO-047", "{}", func(w *world) {
			w.node("n", "std", "c", nil).running("r1", "n", "labels: {app: x}").pods(2, "p", "{"+requires("$zone In a b")+", "+spread(zones, ", nodeAffinityPolicy: Honor")+"}")
		}, zones, "a:1 b:1 c:1"},
		{"TOPO-047 with Ignore", "{}", func(w *world) {
			w.node("n", "std", "c", nil).running("r1", "n", "labels: {app: x}").pods(5, "p", "{"+requires("$zone In a b")+", "+spread(zones, ", nodeAffinityPolicy: Ignore")+"}")
		}, zones, "a:2 b:2 c:1 pending:1"},
		{"TOPO-058", "{}", func(w *world) {
			w.pods(3, "p", "{labels: {app: x}, affinity: {nodeAffinity: "+strings.TrimSuffix(strings.TrimPrefix(requires("$zone In c"), "affinity: {nodeAffinity: "), "}")+", "+strings.TrimPrefix(affine("podAffinity", zones, "x"), "affinity: {")+"}")
		}, zones, "c:3"},
	} {
		t.Run(c.id, func(t *testing.T) {
			w := newWorld(t, catalogueA()).provisioner("default", c.provisioner)
			c.given(w)
			plan := w.decide()
			property, key := byZone, api.LabelZone
			if c.key == capacity {
				property, key = byCapacity, api.LabelCapacityType
			}
			if got := perDomain(w, plan, property, key); got != c.want {
				t.Errorf("got %s, want %s\n%+v", got, c.want, plan.Unplaced)
			}
			verify(t, &w.in, &plan)
		})
	}
}

func TestHostnameFacts(t *testing.T) {
	host := "$host"
	check(t, []fact{
		{id: "TOPO-008", given: func(w *world) {
			w.provisioner("p1", "labels: {$zone: a}").provisioner("p2", "labels: {$zone: b}").pods(4, "p", spread("$zone"))
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "2 a, 2 b"},
		{id: "TOPO-015", given: func(w *world) {
			w.pods(1, "p", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule}]")
		}, want: "small(p)"},
		{id: "TOPO-016", given: func(w *world) {
			w.pods(5, "p", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: $host, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: none}}}]")
		}, see: types, want: "1 small"},
		{id: "TOPO-020", given: func(w *world) { w.pods(4, "p", spread(host)) }, see: types, want: "4 small"},
		{id: "TOPO-022", given: func(w *world) {
			w.pods(2, "a", spread(host)).pods(2, "b", strings.ReplaceAll(spread(host), "app: x", "app: other"))
		}, want: "small(a1 b1), small(a2 b2)"},
		{id: "EXIST-007", given: func(w *world) {
			w.provisioner("default", "{}").pods(4, "p", spread(host)).round()
			w.pods(5, "q", spread(host))
		}, see: types, want: "5 small"},
		{id: "TOPO-066", given: func(w *world) {
			for _, zone := range []string{"a", "b", "c"} {
				w.pods(1, "in-"+zone, "{requests: {cpu: 2}, nodeSelector: {$zone: "+zone+"}, "+affine("podAntiAffinity", "$zone", "t")+"}")
			}
			w.pods(1, "p", "labels: {app: t}")
		}, see: types, want: "3 std, 1 pending"},
		{id: "TOPO-065", given: func(w *world) {
			for _, zone := range []string{"a", "b", "c"} {
				w.pods(1, "in-"+zone, "{requests: {cpu: 2}, nodeSelector: {$zone: "+zone+"}, affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: $zone, labelSelector: {matchLabels: {app: t}}}}]}}}")
			}
			w.pods(1, "p", "labels: {app: t}")
		}, see: func(p Plan) string { return fmt.Sprint(len(p.Unplaced)) }, want: "0"},
		{id: "TOPO-068", given: func(w *world) {
			for _, zone := range []string{"a", "b", "c"} {
				w.node("n"+zone, "std", zone, nil).running("r"+zone, "n"+zone, affine("podAntiAffinity", "$zone", "t"))
			}
			w.pods(1, "p", "labels: {app: t}")
		}, want: "pending(p)"},
		{id: "TOPO-070", given: func(w *world) {
			w.pods(1, "t", "{labels: {app: x}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $host, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]}").
				pods(2, "p", "{affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: $host, labelSelector: {matchLabels: {app: x}}}}]}}, "+spread(host)+"}")
		}, see: types, want: "3 small"},
		{id: "TOPO-076", given: func(w *world) { w.pods(1, "db", affine("podAffinity", host, "web")) }, want: "pending(db)"},
		{id: "TOPO-077", given: func(w *world) {
			w.pods(1, "t", "{labels: {app: t}, namespace: other}").pods(1, "p", affine("podAffinity", host, "t")).pods(10, "s", spread(host))
		}, see: types, want: "10 small, 1 pending"},
		{id: "TOPO-079", given: func(w *world) {
			w.in.Snapshot.Namespaces = []cluster.Namespace{{Name: "default"}, {Name: "other"}}
			w.pods(1, "t", "{labels: {app: t}, namespace: other}").
				pods(1, "p", "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, namespaceSelector: {}, labelSelector: {matchLabels: {app: t}}}]}}").
				pods(10, "s", spread(host))
		}, see: func(p Plan) string {
			for _, m := range p.Machines {
				if slices.ContainsFunc(m.Pods, func(k cluster.PodKey) bool { return k.Name == "p" }) && slices.ContainsFunc(m.Pods, func(k cluster.PodKey) bool { return k.Name == "t" }) {
					return "together"
				}
			}
			return "apart"
		}, want: "together"},
		{id: "TOPO-081", given: func(w *world) {
			for _, zone := range []string{"a", "b"} {
				w.pods(1, "in-"+zone, "{labels: {app: x}, nodeSelector: {$zone: "+zone+"}, "+affine("podAffinity", host, "x")+"}")
			}
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(in-a), pending(in-b)"},
		{id: "TOPO-045", given: func(w *world) {
			for _, revision := range []string{"1", "2"} {
				w.pods(3, "r"+revision+"-", "{labels: {app: x, rev: \""+revision+"\"}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [rev], labelSelector: {matchLabels: {app: x}}}]}")
			}
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(r1-1 r2-1), b(r1-2 r2-2), c(r1-3 r2-3)"},
	})
}

// TestAffinityInAnyOrder (TOPO-061, TOPO-075): pods go to the same machines whatever the order in
// which they come, which is that of their names.
func TestAffinityInAnyOrder(t *testing.T) {
	apart := []string{"labels: {app: t}", affine("podAntiAffinity", "$host", "t")}
	chain := []string{"labels: {app: db}"}
	for _, link := range [][2]string{{"web", "db"}, {"cache", "web"}, {"ui", "cache"}} {
		chain = append(chain, "{labels: {app: "+link[0]+"}, "+affine("podAffinity", "$host", link[1])+"}")
	}
	var facts []fact
	for id, of := range map[string]struct {
		pods []string
		want string
	}{"TOPO-061": {apart, "2 small"}, "TOPO-075": {chain, "1 small"}} {
		for _, order := range permutations(len(of.pods)) {
			facts = append(facts, fact{id: fmt.Sprint(id, order), see: types, want: of.want, given: func(w *world) {
				for at, i := range order {
					w.pods(1, fmt.Sprintf("p%d", at), of.pods[i])
				}
			}})
		}
	}
	check(t, facts)
}

// permutations lists the orders of the numbers below n.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, of := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(of), i, n-1))
		}
	}
	return out
}
