package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// expr spells a requirement: expr("zone In a b").
func expr(text string) string {
	f := strings.Fields(text)
	if values := f[2:]; len(values) > 0 {
		return fmt.Sprintf("{key: %q, operator: %s, values: [%s]}", f[0], f[1], quoted(values))
	}
	return fmt.Sprintf("{key: %q, operator: %s}", f[0], f[1])
}

func quoted(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(out, ", ")
}

// wants spells the requirements of a Provisioner.
func wants(requirements ...string) string {
	out := make([]string, len(requirements))
	for i, r := range requirements {
		out[i] = expr(r)
	}
	return "requirements: [" + strings.Join(out, ", ") + "]"
}

// requires spells a required node affinity; "OR" separates alternative terms.
func requires(requirements ...string) string {
	terms := []string{""}
	for _, r := range requirements {
		last := &terms[len(terms)-1]
		switch {
		case r == "OR":
			terms = append(terms, "")
		case *last == "":
			*last = expr(r)
		default:
			*last += ", " + expr(r)
		}
	}
	for i := range terms {
		terms[i] = "{matchExpressions: [" + terms[i] + "]}"
	}
	return "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [" + strings.Join(terms, ", ") + "]}}}"
}

// prefers spells preferred node affinity terms: prefers("5 zone In a").
func prefers(preferences ...string) string {
	out := make([]string, len(preferences))
	for i, p := range preferences {
		weight, rest, _ := strings.Cut(p, " ")
		out[i] = fmt.Sprintf("{weight: %s, preference: {matchExpressions: [%s]}}", weight, expr(rest))
	}
	return "preferredDuringSchedulingIgnoredDuringExecution: [" + strings.Join(out, ", ") + "]"
}

// one is the fact that a pod, given a Provisioner, is seen as wanted.
func one(id, provisioner, pod string, see func(*Machine) string, want string) fact {
	return fact{id: id, want: want, see: func(p Plan) string { return view(p, see) }, given: func(w *world) {
		w.provisioner("default", "{"+provisioner+"}").pods(1, "p", "{"+pod+"}")
	}}
}

func TestRequirementFacts(t *testing.T) {
	team, test, n := byLabel("team"), byLabel("test"), byLabel("n")
	check(t, []fact{
		one("REQ-003", "", "nodeSelector: {team: a}", byType, "pending(p)"),
		one("REQ-004", "labels: {team: a}", requires("team In a b"), team, "team=a(p)"),
		one("REQ-005", "labels: {team: a}", requires("team In b"), team, "pending(p)"),
		one("REQ-006", "labels: {team: a, tier: web}", "nodeSelector: {team: a, tier: web}", byLabel("tier"), "tier=web(p)"),
		one("REQ-007", "labels: {team: a}", "nodeSelector: {team: a}, "+requires("tier In web"), team, "pending(p)"),
		one("REQ-008", wants("$zone In b"), "", byZone, "b(p)"),
		one("REQ-009", wants("$zone In a b"), "nodeSelector: {$zone: b}", byZone, "b(p)"),
		one("REQ-011", wants("$zone In a"), "nodeSelector: {$zone: nowhere}", byZone, "pending(p)"),
		one("REQ-012", wants("$zone In a"), "nodeSelector: {$zone: b}", byZone, "pending(p)"),
		one("REQ-013", "", requires("$zone In c"), byZone, "c(p)"),
		one("REQ-015", wants("$cpu Lt 8"), "", byType, "small(p)"),
		one("REQ-016", "", requires("$zone In unknown"), byZone, "pending(p)"),
		one("REQ-017", "", requires("$zone NotIn a b unknown"), byZone, "c(p)"),
		{id: "REQ-025", given: func(w *world) {
			w.provisioner("default", "{}").pods(1, "a", "nodeSelector: {$zone: a}").pods(1, "b", "nodeSelector: {$type: std}").
				pods(1, "c", "nodeSelector: {$arch: arm64}").pods(1, "d", "nodeSelector: {$os: linux}").pods(1, "e", "nodeSelector: {$capacity: spot}")
		}, see: func(p Plan) string { return fmt.Sprint(len(p.Unplaced)) }, want: "0"},
		{id: "REQ-027", given: func(w *world) {
			w.provisioner("p1", "{}").provisioner("p2", "{}").pods(1, "p", "nodeSelector: {$provisioner: p2}")
		}, see: func(p Plan) string { return view(p, byProvisioner) }, want: "p2(p)"},
		one("REQ-029", "", requires("$host In x"), byType, "pending(p)"),
		one("REQ-033", "", requires("karpenter.k8s.aws/test In test"), byType, "pending(p)"),
		one("REQ-035", "labels: {kops.k8s.io/test: v}", requires("kops.k8s.io/test In v"), byLabel("kops.k8s.io/test"), "kops.k8s.io/test=v(p)"),
		one("REQ-036", wants("node.kubernetes.io/test In v"), "", byLabel("node.kubernetes.io/test"), "node.kubernetes.io/test=v(p)"),
		one("REQ-037", "labels: {node.kubernetes.io/test: v}", requires("node.kubernetes.io/test In v"), byLabel("node.kubernetes.io/test"), "node.kubernetes.io/test=v(p)"),
		one("REQ-038", wants("node-restriction.kubernetes.io/test In v"), "", byLabel("node-restriction.kubernetes.io/test"), "node-restriction.kubernetes.io/test=v(p)"),
		one("REQ-040", "", requires("test In x"), test, "pending(p)"),
		one("REQ-041", "", requires("test Exists"), test, "pending(p)"),
		one("REQ-042", "", requires("test NotIn x"), test, "no test(p)"),
		one("REQ-044", "", requires("test Gt 1"), test, "pending(p)"),
		one("REQ-045", "", requires("test Lt 1"), test, "pending(p)"),
		one("REQ-046", wants("test In x"), "", test, "test=x(p)"),
		one("REQ-047", wants("test In x"), requires("test In x"), test, "test=x(p)"),
		one("REQ-051", wants("test In x"), requires("test In y"), test, "pending(p)"),
		{id: "REQ-053", given: func(w *world) {
			w.provisioner("default", "{"+wants("test In x y")+"}").pods(1, "a", "{"+requires("test In x")+"}").pods(1, "b", "{"+requires("test NotIn y")+"}")
		}, see: func(p Plan) string { return view(p, test) }, want: "test=x(a b)"},
		one("REQ-055", "", requires("$zone In nowhere", "$zone Exists"), byZone, "pending(p)"),
		one("REQ-056", wants("test Exists"), "", test, "test=any-0(p)"),
		one("REQ-057", wants("test Exists"), "nodeSelector: {test: x}", test, "test=x(p)"),
		one("REQ-060", wants("test DoesNotExist"), "", test, "no test(p)"),
		one("REQ-062", wants("test NotIn x"), "nodeSelector: {test: x}", test, "pending(p)"),
		one("REQ-066", wants("n In 1 2 3"), requires("n Gt 3"), n, "pending(p)"),
		one("REQ-068", wants("n Gt 1"), requires("n Lt 5"), n, "n=2(p)"),
		one("REQ-070", wants("n Gt 4"), requires("n Lt 5"), n, "pending(p)"),
		one("REQ-072", wants("n Gt 1"), requires("n In 2 9"), n, "n=2(p)"),
		one("REQ-074", wants("n Gt 1"), requires("n In a"), n, "pending(p)"),
		one("REQ-075", wants("n Lt 9"), requires("n In 8 9 10"), n, "n=8(p)"),
		one("REQ-076", wants("n Gt 1"), requires("n Gt 7"), n, "n=8(p)"),
		one("REQ-077", wants("n Lt 9"), requires("n Lt 4"), n, "n=0(p)"),
		one("REQ-078", wants("n NotIn a"), requires("n NotIn b"), n, "n=any-0(p)"),
		one("REQ-080", wants("n In a b"), requires("n In b c"), n, "n=b(p)"),
		one("REQ-081", wants("n In a"), requires("n In b"), n, "pending(p)"),
		one("REQ-083", wants("n Exists"), requires("n DoesNotExist"), n, "pending(p)"),
		one("REQ-084", wants("n DoesNotExist"), requires("n DoesNotExist"), n, "no n(p)"),
		one("REQ-085", wants("n DoesNotExist"), requires("n NotIn a"), n, "no n(p)"),
		one("REQ-086", wants("n Exists"), requires("n Gt 3"), n, "n=4(p)"),
		one("REQ-089", wants("$zone In a", "$zone NotIn a"), "", byZone, "pending(p)"),
		one("REQ-091", "", "nodeSelector: {failure-domain.beta.kubernetes.io/zone: b}", byZone, "b(p)"),
		one("REQ-094", "", "nodeSelector: {beta.kubernetes.io/instance-type: std}", byType, "std(p)"),
		one("REQ-095", "", "nodeSelector: {failure-domain.beta.kubernetes.io/region: here}", byType, "small(p)"),
		one("LAUNCH-003", wants("$arch In arm64"), "", byType, "arm(p)"),
	})
}

func TestSuggestionFacts(t *testing.T) {
	for id, c := range map[string]struct{ key, meant string }{
		"REQ-097": {"zone", api.LabelZone},
		"REQ-099": {"provisioner-name", api.LabelProvisioner},
		"REQ-100": {"instance-type", api.LabelInstanceType},
		"REQ-101": {"arch", api.LabelArch},
		"REQ-102": {"capacity-type", api.LabelCapacityType},
	} {
		t.Run(id, func(t *testing.T) {
			plan := newWorld(t, catalogueA()).provisioner("default", "{}").pods(1, "p", "nodeSelector: {"+c.key+": x}").decide()
			want := fmt.Sprintf("provisioner default does not define the label %q: did you mean %s?", c.key, c.meant)
			if len(plan.Unplaced) != 1 || plan.Unplaced[0].Reason != want {
				t.Errorf("got %+v, want %s", plan.Unplaced, want)
			}
		})
	}
}

func TestPreferenceFacts(t *testing.T) {
	two := func(w *world) {
		w.provisioner("a-tainted", "taints: [{key: foo, value: bar, effect: PreferNoSchedule}]").provisioner("plain", "{}").pods(1, "p", "{}")
	}
	check(t, []fact{
		one("PREF-002", "", requires("$zone In nowhere", "OR", "$zone In nowhere", "OR", "$zone In a", "OR", "$zone In b"), byZone, "a(p)"),
		one("PREF-003", "", "affinity: {nodeAffinity: {"+prefers("1 $zone In nowhere", "1 $type In nonsense")+"}}", byType, "small(p)"),
		one("PREF-005", "", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: ["+expr("$zone In c")+"]}]}, "+prefers("1 $zone NotIn c")+"}}", byZone, "c(p)"),
		one("PREF-007", "taints: [{key: foo, value: bar, effect: PreferNoSchedule}]", "affinity: {nodeAffinity: {"+prefers("1 $zone In nowhere", "1 $type In nonsense")+"}}", withTaints, "small tainted foo=bar:PreferNoSchedule(p)"),
		{id: "PREF-008", given: two, see: func(p Plan) string { return view(p, byProvisioner) }, want: "plain(p)"},
		one("PREF-013", "", "affinity: {nodeAffinity: {"+prefers("1 karpenter.sh/unknown In x")+"}}", func(m *Machine) string { return byType(m) + " without " + strings.Join(m.GivenUp["default/p"], ", ") }, "small without preferred node affinity karpenter.sh/unknown In [x](p)"),
		one("PREF-014", "", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}", byType, "pending(p)"),
		one("REQ-020", "", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: ["+expr("$zone In a b c unknown")+"]}]}, "+prefers("1 $zone In unknown")+"}}", byType, "small(p)"),
	})
}

func withTaints(m *Machine) string {
	out := byType(m)
	for _, taint := range m.Taints {
		out += " tainted " + taint.ToString()
	}
	return out
}

func TestTaintFacts(t *testing.T) {
	tainted := "taints: [{key: test-key, value: test-value, effect: NoSchedule}]"
	gpu := "taints: [{key: nvidia.com/gpu, value: \"true\", effect: NoSchedule}]"
	bare := "taints: [{key: k, effect: NoSchedule}]"
	check(t, []fact{
		one("TAINT-003", tainted, "tolerations: [{key: test-key, value: test-value, operator: Equal, effect: NoSchedule}]", byType, "small(p)"),
		one("TAINT-004", tainted, "", byType, "pending(p)"),
		one("TAINT-007", gpu, "tolerations: [{key: nvidia.com/gpu, value: \"true\", operator: Equal, effect: NoSchedule}]", byType, "small(p)"),
		one("TAINT-009", gpu, "tolerations: [{key: nvidia.com/gpu, operator: Exists}]", byType, "small(p)"),
		one("TAINT-012", "taints: [{key: k, effect: NoExecute}]", "tolerations: [{key: k, operator: Exists, effect: NoSchedule}]", byType, "pending(p)"),
		one("TAINT-014", bare+", startupTaints: [{key: ignore-me, effect: NoSchedule}]", "", byType, "pending(p)"),
		one("TAINT-015", "", "tolerations: [{key: test-key, operator: Exists, effect: NoExecute}]", func(m *Machine) string { return fmt.Sprint(len(m.Taints)) }, "0(p)"),
		{id: "TAINT-017", given: func(w *world) {
			w.provisioner("default", bare).pods(1, "a", "tolerations: [{key: k, operator: Exists}]").pods(1, "b", "tolerations: [{key: k, operator: Equal}]")
		}, want: "small(a b)"},
	})
}

func TestInstanceTypeFacts(t *testing.T) {
	optional := func() []offer.InstanceType {
		types := ladder(5)
		types[4] = label(types[4], api.LabelInstanceLocalNVMe, "900")
		return types
	}
	nvme := api.LabelInstanceLocalNVMe
	amd := wants("$arch In amd64")
	both := wants("$arch In amd64 arm64")
	cheap := func(id, provisioner, pod string, right func(offer.Candidate) bool) fact {
		return fact{id: id, types: grid, given: func(w *world) { w.provisioner("default", "{"+provisioner+"}").pods(1, "p", "{"+pod+"}") }, see: func(p Plan) string {
			for _, c := range p.Machines[0].Candidates {
				if !right(c) {
					return "wrong candidate " + c.InstanceType
				}
			}
			return fmt.Sprintf("$%.4f", p.HourlyPrice.Dollars())
		}, want: "$0.2074"}
	}
	named := func(part string) func(offer.Candidate) bool {
		return func(c offer.Candidate) bool { return strings.Contains(c.InstanceType, part) }
	}
	check(t, []fact{
		one("TYPE-004", amd, requires("$os In ios"), byType, "pending(p)"),
		one("TYPE-005", amd, "limits: {cpu: 14}", byType, "pending(p)"),
		{id: "TYPE-006", given: func(w *world) {
			w.provisioner("default", both).pods(1, "a", "nodeSelector: {$os: linux}").pods(1, "b", "nodeSelector: {$os: windows}")
		}, want: "small(a), small(b)"},
		{id: "TYPE-007", given: func(w *world) {
			w.provisioner("default", both).pods(1, "a", "nodeSelector: {beta.kubernetes.io/instance-type: small}").pods(1, "b", "nodeSelector: {$type: std}")
		}, want: "small(a), std(b)"},
		{id: "TYPE-008", given: func(w *world) {
			w.pods(1, "a", "nodeSelector: {$zone: a}").pods(1, "b", "nodeSelector: {$zone: b}")
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(a), b(b)"},
		{id: "TYPE-009", types: func() []offer.InstanceType {
			types := ladder(5)
			types[0], types[1] = with(types[0], "example.com/gpu-x", 25), with(types[1], "example.com/gpu-y", 25)
			return types
		}, given: func(w *world) {
			w.pods(1, "a", "limits: {example.com/gpu-x: 1}").pods(1, "b", "limits: {example.com/gpu-y: 1}")
		}, want: "ladder-0(a), ladder-1(b)"},
		{id: "TYPE-013", types: optional, given: func(w *world) { w.pods(1, "p", requires(nvme+" Exists")) }, want: "ladder-4(p)"},
		{id: "TYPE-014", types: optional, given: func(w *world) { w.pods(1, "p", "{requests: {cpu: 3.5}, "+requires(nvme+" DoesNotExist")+"}") }, want: "ladder-3(p)"},
		{id: "TYPE-015", given: func(w *world) {
			w.pods(1, "a", "limits: {gpu-a: 1}").pods(1, "b", "limits: {gpu-b: 1}")
		}, want: "gpu-a(a), gpu-b(b)"},
		one("TYPE-016", "", "limits: {cpu: 1}", byType, "small(p)"),
		{id: "TYPE-018", types: func() []offer.InstanceType {
			var out []offer.InstanceType
			for _, t := range grid() {
				if !strings.Contains(t.Name, "-b-") || !strings.Contains(t.Name, "arm64") {
					out = append(out, t)
				}
			}
			return out
		}, given: func(w *world) { w.pods(1, "p", requires("$arch In arm64", "$zone In b")) }, want: "pending(p)"},
		one("TYPE-020", "", "requests: {example.com/unheard-of: 0}, limits: {example.com/unheard-of: 0}", byType, "small(p)"),
		one("TYPE-021", "", "requests: {memory: 2Ti}", byType, "pending(p)"),
		one("TYPE-023", "", requires("$zone In c"), byCapacity, "on-demand(p)"),
		{id: "TYPE-024", types: func() []offer.InstanceType {
			types := catalogueA()
			for i := range types[4].Offerings {
				types[4].Offerings[i].Unavailable = "insufficient capacity until 12:03"
			}
			return types
		}, given: func(w *world) { w.pods(1, "p", requires("$type In small")) }, want: "pending(p)"},
		cheap("TYPE-026", "", requires("$arch In amd64"), named("amd64")),
		cheap("TYPE-027", "", requires("$arch In arm64"), named("arm64")),
		cheap("TYPE-029", "", requires("$os In windows"), named("windows")),
		cheap("TYPE-030", "", requires("$zone In b"), named("-b-")),
		cheap("TYPE-031", "", requires("$capacity In spot"), named("-spot-")),
		cheap("TYPE-032", amd, "", named("amd64")),
		cheap("TYPE-034", wants("$os In linux"), "", named("linux")),
		cheap("TYPE-038", wants("$capacity In on-demand", "$zone In a"), "", named("-a-on-demand-")),
		cheap("TYPE-040", wants("$capacity In spot"), requires("$zone In b"), named("-b-spot-")),
		{id: "TYPE-044", types: func() []offer.InstanceType {
			t1, t2 := size("t1", 2, 2, 9), size("t2", 2, 2, 9)
			for i, prices := range [][2]offer.Price{{1_000_000, 200_000}, {1_300_000, 100_000}} {
				o := []*offer.InstanceType{&t1, &t2}[i].Offerings
				for j := range o {
					o[j].Price = prices[0]
					if o[j].CapacityType == api.CapacitySpot {
						o[j].Price = prices[1]
					}
				}
			}
			return []offer.InstanceType{t1, t2}
		}, given: func(w *world) { w.provisioner("default", wants("$capacity In on-demand")).pods(1, "p", "{}") }, want: "t1(p)"},
	})
}
