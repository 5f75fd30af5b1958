package decide

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// fact is one behaviour: a world, and what is seen of the plan for it.
type fact struct {
	id    string
	given func(*world)
	types func() []offer.InstanceType // nil: catalogue A
	see   func(Plan) string           // nil: pods by instance type
	want  string
}

func check(t *testing.T, facts []fact) {
	t.Helper()
	for _, f := range facts {
		t.Run(f.id, func(t *testing.T) {
			types, see := f.types, f.see
			if types == nil {
				types = catalogueA
			}
			if see == nil {
				see = func(p Plan) string { return view(p, byType) }
			}
			w := newWorld(t, types())
			f.given(w)
			if len(w.in.Provisioners) == 0 {
				w.provisioner("default", "{}")
			}
			plan := w.decide()
			if got := see(plan); got != f.want {
				t.Errorf("got  %s\nwant %s\nunplaced: %+v", got, f.want, plan.Unplaced)
			}
			verify(t, &w.in, &plan)
		})
	}
}

func types(p Plan) string { return tally(p, byType) }

func TestBinpackingFacts(t *testing.T) {
	check(t, []fact{
		{id: "PACK-001", given: func(w *world) { w.pods(1, "p", "requests: {memory: 100M}") }, want: "small(p)"},
		{id: "PACK-003", given: func(w *world) { w.pods(1, "p", "{requests: {cpu: 1}, overhead: {cpu: 2}}") }, want: "std(p)"},
		{id: "PACK-004", given: func(w *world) { w.pods(5, "p", "requests: {memory: 10M}") }, see: types, want: "1 small"},
		{id: "PACK-005", given: func(w *world) { w.pods(40, "p", "{requests: {memory: 1.8G}, nodeSelector: {$arch: amd64}}") }, see: types, want: "20 std"},
		{id: "PACK-006", given: func(w *world) {
			w.pods(40, "big", "{requests: {memory: 1.8G}, nodeSelector: {$arch: amd64}}").
				pods(20, "little", "{requests: {memory: 400M}, nodeSelector: {$arch: amd64}}")
		}, see: types, want: "20 std"},
		{id: "PACK-007", types: func() []offer.InstanceType { return ladder(5) }, given: func(w *world) {
			w.pods(1, "a", "requests: {cpu: 4.5}").pods(1, "b", "requests: {cpu: 1}")
		}, want: "ladder-1(b), ladder-4(a)"},
		{id: "PACK-010", given: func(w *world) {
			w.pods(1, "p", "{containers: [{name: c, resources: {requests: {cpu: 1, memory: 1Gi}}}], initContainers: [{name: i, resources: {requests: {cpu: 2, memory: 1Ti}}}]}")
		}, want: "pending(p)"},
		{id: "PACK-011", given: func(w *world) {
			w.provisioner("default", "requirements: [{key: $type, operator: In, values: [onepod]}]").pods(3, "p", "{}")
		}, see: types, want: "3 onepod"},
		{id: "PACK-017", types: func() []offer.InstanceType { return []offer.InstanceType{size("four", 4, 4, 10)} }, given: func(w *world) {
			w.pods(1, "a", "requests: {cpu: 0.5}").pods(1, "b", "requests: {cpu: 3}")
		}, want: "four(a b)"},
		{id: "PACK-019", given: func(w *world) {
			w.pods(1, "huge", "requests: {cpu: 10000}").pods(10, "p", "requests: {cpu: 100m}")
		}, see: types, want: "2 small, 1 pending"},
		{id: "PACK-020", given: func(w *world) {
			w.pods(1, "p", "{containers: [{name: c, resources: {requests: {cpu: 1}}}], initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 3}}}]}")
		}, want: "arm(p)"},
		{id: "PACK-021", given: func(w *world) {
			w.pods(1, "p", "containers: [{name: a, resources: {requests: {cpu: 1.5}}}, {name: b, resources: {requests: {cpu: 1.5}}}]")
		}, want: "std(p)"},
		{id: "PACK-022", types: func() []offer.InstanceType {
			big := size("big", 2, 2, 10)
			big.Capacity["ephemeral-storage"] = 200 << 30
			return []offer.InstanceType{big, size("tiny", 2, 2, 10)}
		}, given: func(w *world) { w.pods(1, "p", "requests: {ephemeral-storage: 100Gi}") }, want: "big(p)"},
		{id: "PACK-025", given: func(w *world) {
			w.pods(1, "a", "ports: [{hostPort: 80}]").pods(1, "b", "ports: [{hostPort: 81}]")
		}, want: "small(a b)"},
		{id: "PACK-026", given: func(w *world) {
			w.pods(1, "a", "ports: [{hostPort: 80, protocol: TCP}]").pods(1, "b", "ports: [{hostPort: 80, protocol: UDP}]")
		}, want: "small(a b)"},
		{id: "PACK-029", given: func(w *world) {
			w.node("n1", "std", "a", nil).running("old", "n1", "ports: [{hostPort: 80}]").pods(1, "p", "ports: [{hostPort: 80}]")
		}, want: "small(p)"},
		{id: "PACK-030", given: func(w *world) {
			w.daemonSet("ds", "ports: [{hostPort: 80}]").pods(1, "p", "ports: [{hostPort: 80}]")
		}, want: "pending(p)"},
	})
}

func TestDaemonSetFacts(t *testing.T) {
	check(t, []fact{
		{id: "DS-003", given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 10000, memory: 10000Gi}").pods(1, "p", "{}")
		}, want: "small(p)"},
		{id: "DS-006", given: func(w *world) {
			w.daemonSet("ds", "{containers: [{name: c, resources: {requests: {cpu: 2}, limits: {cpu: 2, memory: 1Gi}}}], initContainers: [{name: i, resources: {requests: {cpu: 1}, limits: {memory: 2Gi}}}]}").pods(1, "p", "{}")
		}, want: "std(p)"},
		{id: "DS-007", given: func(w *world) {
			w.daemonSet("ds", "{containers: [{name: c, resources: {limits: {cpu: 10k, memory: 1Gi}}}], initContainers: [{name: i, resources: {limits: {cpu: 10k, memory: 10000Gi}}}]}").pods(1, "p", "{}")
		}, want: "small(p)"},
		{id: "DS-008", given: func(w *world) {
			w.daemonSet("ds", "{containers: [{name: c}], initContainers: [{name: i, resources: {requests: {cpu: 10000, memory: 10000Gi}}}]}").pods(1, "p", "{}")
		}, want: "small(p)"},
		{id: "a DaemonSet's init containers count", given: func(w *world) {
			w.daemonSet("ds", "{containers: [{name: c}], initContainers: [{name: i, resources: {requests: {cpu: 1500m}}}]}").pods(1, "p", "requests: {cpu: 500m}")
		}, want: "std(p)"},
		{id: "a DaemonSet that small machines cannot hold", given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 3}").pods(1, "p", "requests: {cpu: 500m}")
		}, want: "std(p)"},
		{id: "a DaemonSet that no machine that the pod may use can hold", given: func(w *world) {
			w.daemonSet("ds", "requests: {cpu: 3}").pods(1, "p", "nodeSelector: {$type: small}")
		}, want: "pending(p)"},
		{id: "DS-013", given: func(w *world) {
			w.provisioner("p1", "{labels: {foo: voo}, limits: {resources: {cpu: 2}}}").provisioner("p2", "labels: {foo: bar}").
				daemonSet("ds", "{requests: {cpu: 4, memory: 4Gi}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: foo, operator: In, values: [bar]}]}]}}}}").
				pods(1, "p", "{requests: {cpu: 1, memory: 1Gi}, nodeSelector: {foo: voo}}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "p1(p)"},
		{id: "DS-016", given: func(w *world) {
			w.provisioner("default", "taints: [{key: x, effect: PreferNoSchedule}]").daemonSet("ds", "requests: {cpu: 2}").pods(1, "p", "{}")
		}, want: "std(p)"},
		{id: "DS-018", given: func(w *world) {
			w.daemonSet("ds", "{requests: {cpu: 2}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: $zone, operator: In, values: [nowhere]}]}, {matchExpressions: [{key: $arch, operator: Exists}]}]}}}}").pods(1, "p", "{}")
		}, want: "std(p)"},
	})
}

func TestLimitFacts(t *testing.T) {
	check(t, []fact{
		{id: "LIM-001", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 20}}").pods(1, "p", "requests: {cpu: 3}")
			for _, name := range []string{"n1", "n2", "n3", "n4", "n5", "n6", "n7"} {
				w.node(name, "std", "a", func(n *cluster.Node) { n.Allocatable = nil })
			}
		}, want: "pending(p)"},
		{id: "LIM-002", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 2}}").pods(1, "p", "requests: {cpu: 1.75}")
		}, want: "small(p)"},
		{id: "LIM-005", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {gpu-a: 1}}").pods(1, "p", "limits: {gpu-a: 1}")
		}, want: "pending(p)"},
		{id: "LIM-007", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 0}}").pods(1, "p", "{}")
		}, want: "pending(p)"},
		{id: "LIM-008", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {mem: 1Gi}}").pods(1, "p", "{}")
		}, want: "small(p)"},
		{id: "LIM-009", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {cpu: 2}}").pods(1, "p", "requests: {cpu: 100m}")
		}, types: func() []offer.InstanceType {
			return []offer.InstanceType{size("eight", 8, 2, 9), size("four", 4, 2, 9), size("two", 2, 2, 9)}
		}, see: func(p Plan) string {
			seen := map[string]int{}
			for _, c := range p.Machines[0].Candidates {
				seen[c.InstanceType] = 1
			}
			return counted(seen, 0)
		}, want: "1 two"},
		{id: "LIM-012", given: func(w *world) {
			w.provisioner("default", "{limits: {resources: {cpu: 8}}, requirements: [{key: $type, operator: In, values: [onepod]}]}").pods(20, "p", "{}")
		}, see: types, want: "2 onepod, 18 pending"},
		{id: "LIM-012 in the next round", given: func(w *world) {
			w.provisioner("default", "{limits: {resources: {cpu: 8}}, requirements: [{key: $type, operator: In, values: [onepod]}]}").pods(20, "p", "{}").round()
		}, see: types, want: "18 pending"},
		{id: "LIM-013", given: func(w *world) {
			w.provisioner("p1", "limits: {resources: {cpu: 0}}").provisioner("p2", "{}").pods(2, "p", "{}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "p2(p1 p2)"},
		{id: "LIM-017", given: func(w *world) {
			w.provisioner("default", "{}").pods(1, "p", "{}")
			deleted := deletedAt()
			w.in.Provisioners[0].Spec.DeletionTimestamp = &deleted
		}, want: "pending(p)"},
		{id: "LIM-018", given: func(w *world) {
			w.provisioner("p1", "{}").provisioner("p2", "{}").pods(1, "p", "nodeSelector: {$provisioner: p2}")
		}, see: func(p Plan) string { return view(p, byLabel("karpenter.sh/provisioner-name")) }, want: "karpenter.sh/provisioner-name=p2(p)"},
		{id: "LIM-022", given: func(w *world) {
			w.provisioner("p1", "{weight: 100, requirements: [{key: $arch, operator: In, values: [amd64]}]}").
				provisioner("p2", "{weight: 1, requirements: [{key: $arch, operator: In, values: [arm64]}]}").pods(1, "p", "nodeSelector: {$arch: arm64}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "p2(p)"},
	})
}
