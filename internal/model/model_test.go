package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// machineType returns an instance type that is sold on demand in zones a and b.
func machineType(name string, cpu, price int64) offer.InstanceType {
	t := offer.InstanceType{
		Name:     name,
		Labels:   map[string][]string{corev1.LabelInstanceTypeStable: {name}},
		Capacity: amount.List{amount.CPU: cpu, amount.Memory: 8, amount.Pods: 10},
	}
	for _, zone := range []string{"a", "b"} {
		t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(price)})
	}
	return t
}

// pool returns a Provisioner of that name that sells a small and a large type.
func pool(name string, taints ...corev1.Taint) Provisioner {
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}}
	spec.Spec.Taints = taints
	return Provisioner{Spec: spec, Types: []offer.InstanceType{machineType("large", 8000, 400), machineType("small", 2000, 100)}}
}

// input is a problem with a pod that may be anywhere.
func input(provisioners ...Provisioner) *Input {
	anywhere := &cluster.Template{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	return &Input{
		Pods:     []Pod{pod("anywhere", anywhere)},
		Snapshot: &cluster.Snapshot{}, Provisioners: provisioners, Binding: make([]amount.List, len(provisioners)),
		Key: func(b []byte, t *cluster.Template, _ match.Needs) []byte {
			return fmt.Appendf(b, "%v %v", t.Requests, t.NodeSelector)
		},
	}
}

func read(in *Input) *Model { return New(in, NewEffort(in.Pods, len(in.Snapshot.Nodes))) }

// sold names the offerings of a set.
func sold(m *Model, of Bitset) string {
	var out []string
	for k := range of.All {
		o := &m.Offerings[k]
		out = append(out, m.Pools[o.Pool].Spec.Name+"/"+o.Type.Name+"/"+o.Offer.Zone)
	}
	return strings.Join(out, " ")
}

func pod(name string, t *cluster.Template) Pod {
	return Pod{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: t.Namespace, Name: name}, Template: t}}
}

func TestOptions(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	m := read(input(pool("default"), pool("tainted", gpu)))
	var free match.Requirements
	for name, of := range map[string]struct {
		requires    match.Requirements
		tolerations []corev1.Toleration
		want        string
	}{
		"offerings are sorted by price": {free, nil, "default/small/a default/small/b default/large/a default/large/b"},
		"a zone":                        {free.With(api.LabelZone, labelset.Only("b")), nil, "default/small/b default/large/b"},
		"a type":                        {free.With(api.LabelInstanceType, labelset.Only("large")), nil, "default/large/a default/large/b"},
		"a taint that is tolerated": {
			free.With(api.LabelZone, labelset.Only("a")), []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			"default/small/a default/large/a tainted/small/a tainted/large/a",
		},
		"a zone that nobody sells in": {free.With(api.LabelZone, labelset.Only("c")), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := m.OptionsFor(of.requires, of.tolerations, TolerationKey(of.tolerations), false)
			if got := sold(m, o.Offerings); got != of.want {
				t.Errorf("%s, want %s", got, of.want)
			}
		})
	}
}

// TestNearestMiss says which requirement leaves nothing to buy, and what there is.
func TestNearestMiss(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	m := read(input(pool("default"), pool("tainted", gpu)))
	var free match.Requirements
	for name, of := range map[string]struct {
		pool     int
		requires match.Requirements
		want     match.Miss
	}{
		"zone":  {0, free.With(api.LabelZone, labelset.Only("c")), match.Miss{Kind: match.Offering, Key: api.LabelZone, Want: api.LabelZone + " In [c]", Have: "a, b"}},
		"type":  {0, free.With(api.LabelInstanceType, labelset.Only("larg")), match.Miss{Kind: match.TypeLabel, Key: api.LabelInstanceType, Want: "In [larg]", Have: "large, small", Hint: "large"}},
		"taint": {1, nil, match.Miss{Kind: match.Taint, Key: "gpu=true:NoSchedule"}},
		"none":  {0, nil, match.Miss{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := m.OptionsFor(of.requires, nil, "", false)
			if got := m.MissOf(o, m.Pools[of.pool]); got != of.want {
				t.Errorf("%#v, want %#v", got, of.want)
			}
		})
	}
}

// TestNearestMissOfMany: where no type misses one requirement alone, one that no type meets is named, and otherwise those
// that exclude each other.
func TestNearestMissOfMany(t *testing.T) {
	sells := Provisioner{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, of := range []struct{ family, size, generation string }{{"c1", "medium", "1"}, {"m5", "large", "5"}, {"m5", "xlarge", "5"}, {"g4dn", "xlarge", "4"}} {
		typ := machineType(of.family+"."+of.size, 4000, 200)
		typ.Labels[api.LabelInstanceFamily], typ.Labels[api.LabelInstanceSize], typ.Labels[api.LabelInstanceGeneration] = []string{of.family}, []string{of.size}, []string{of.generation}
		sells.Types = append(sells.Types, typ)
	}
	m := read(input(sells))
	only := func(pairs ...string) (out match.Requirements) {
		for i := 0; i < len(pairs); i += 2 {
			out = out.With(pairs[i], labelset.Only(pairs[i+1]))
		}
		return out
	}
	for name, of := range map[string]struct {
		requires match.Requirements
		want     match.Miss
	}{
		"one that none meets": {only(api.LabelInstanceFamily, "m5", api.LabelInstanceSize, "XLarge", api.LabelInstanceGeneration, "4"), match.Miss{Kind: match.TypeLabel, Key: api.LabelInstanceSize, Want: "In [XLarge]", Have: "large, medium, xlarge", Hint: "xlarge"}},
		"two that exclude each other": {only(api.LabelInstanceFamily, "g4dn", api.LabelInstanceSize, "medium", api.LabelInstanceGeneration, "5"), match.Miss{
			Kind: match.TypeLabel, Key: api.LabelInstanceGeneration, Want: "In [5] together with " + api.LabelInstanceSize + " In [medium]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := m.OptionsFor(of.requires, nil, "", false)
			if got := m.MissOf(o, m.Pools[0]); got != of.want {
				t.Errorf("%#v, want %#v", got, of.want)
			}
		})
	}
}

// TestItemsAreInTheirOwnDomains: each pass numbers the options of items of several pods anew, so that those of two
// items may have the same number.
func TestItemsAreInTheirOwnDomains(t *testing.T) {
	m := read(input(pool("default")))
	for _, zone := range []string{"a", "b"} {
		of := *m.OptionsFor(match.Requirements{}.With(api.LabelZone, labelset.Only(zone)), nil, "", false)
		of.ID = -1
		if got := m.CombinationsOf(&of, []string{api.LabelZone}); len(got) != 1 || got[0].Domains[0].Value != zone {
			t.Errorf("an item in zone %s may be in %v", zone, got)
		}
	}
}

// TestDaemonSetsAreOverhead on the offerings that they run on, and on no others.
func TestDaemonSetsAreOverhead(t *testing.T) {
	in := input(pool("default"))
	in.Snapshot.DaemonSets = []cluster.DaemonSet{{Template: &cluster.Template{
		Requests: amount.List{amount.CPU: 300, amount.Pods: 1}, NodeSelector: map[string]string{api.LabelZone: "b"},
	}}}
	in.Pods = []Pod{pod("web", &cluster.Template{Requests: amount.List{amount.CPU: 1, amount.Pods: 1}})}
	m := read(in)
	cpu := slices.Index(m.Space.Names, amount.CPU)
	for k := range m.Offerings {
		o := &m.Offerings[k]
		want := o.Type.Capacity[amount.CPU]
		if o.Offer.Zone == "b" {
			want -= 300
		}
		if o.Room[cpu] != want {
			t.Errorf("%s in %s has room for %d CPU, want %d", o.Type.Name, o.Offer.Zone, o.Room[cpu], want)
		}
	}
}

// TestDaemonSetThatDoesNotFit: types that are too small for its pod have no room beside it, unless all
// are that the Provisioner sells and on which it may run, so that it takes nothing.
func TestDaemonSetThatDoesNotFit(t *testing.T) {
	small := map[string]string{api.LabelInstanceType: "small"}
	for name, of := range map[string]struct {
		cpu      int64
		selector map[string]string // of the DaemonSet
		pods     map[string]string // selector of the pods
		want     string
	}{
		"on small ones":                 {3000, nil, nil, "large 5000, small 0"},
		"on those that pods select":     {3000, nil, small, "small 0"},
		"on any":                        {9000, nil, nil, "large 8000, small 2000"},
		"on those on which it may run":  {3000, small, nil, "large 8000, small 2000"},
		"with devices that no type has": {100, nil, nil, "large 7900, small 1900"},
		"with devices that pods want":   {100, nil, nil, "large 7900, small 1900"},
		"on this one when it is bare":   {2000, small, nil, "large 8000, small 0"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(pool("default"))
			requests := amount.List{amount.CPU: of.cpu, amount.Pods: 1}
			if strings.HasPrefix(name, "with devices") { // nodes may have them once they run
				requests["example.com/device"] = 1
			}
			in.Snapshot.DaemonSets = []cluster.DaemonSet{{Template: &cluster.Template{Requests: requests, NodeSelector: of.selector}}}
			in.Pods = []Pod{pod("web", &cluster.Template{Requests: amount.List{amount.CPU: 1, amount.Pods: 1}, NodeSelector: of.pods})}
			if strings.HasSuffix(name, "pods want") {
				in.Pods = append(in.Pods, pod("worker", &cluster.Template{Requests: amount.List{"example.com/device": 1, amount.Pods: 1}}))
			}
			m := read(in)
			room := map[string]int64{}
			for k := range m.Offerings {
				o := &m.Offerings[k]
				room[o.Type.Name] = o.Room[slices.Index(m.Space.Names, amount.CPU)]
				if o.Room[slices.Index(m.Space.Names, amount.Pods)] == 0 {
					room[o.Type.Name] = 0
				}
			}
			var got []string
			for _, typ := range SortedKeys(room) {
				got = append(got, fmt.Sprint(typ, " ", room[typ]))
			}
			if got := strings.Join(got, ", "); got != of.want {
				t.Errorf("%s, want %s", got, of.want)
			}
		})
	}
}

// TestDaemonSetsOfDevices: how many devices and how much disk a DaemonSet asks for counts, whether or not other pods
// ask for any. What fits nowhere is named.
func TestDaemonSetsOfDevices(t *testing.T) {
	const device = "example.com/device"
	for name, of := range map[string]struct {
		resource string
		asks     int64
		large    int64 // CPU
		small    int64
		plain    int64 // of a type that has none
		left     string
	}{
		"more devices than the small one has": {device, 2, 7900, 0, 3900, ""},
		"more devices than any has":           {device, 4, 8000, 2000, 4000, "default: its pod needs 0.1 CPU and 4 example.com/device, and the nearest instance type, large, has 8 CPU and 2 example.com/device"},
		"more disk than any has":              {amount.EphemeralStorage, 4, 8000, 2000, 4000, "default: its pod needs 0.1 CPU and 4 bytes of ephemeral storage, and the nearest instance type, large, has 8 CPU and 2 bytes of ephemeral storage"},
	} {
		for _, others := range []bool{false, true} {
			t.Run(fmt.Sprint(name, others), func(t *testing.T) {
				sells := pool("default")
				sells.Types = append(sells.Types, machineType("plain", 4000, 200))
				in := input(sells)
				for i, has := range []int64{2, 1} {
					in.Provisioners[0].Types[i].Capacity[of.resource] = has
				}
				in.Snapshot.DaemonSets = []cluster.DaemonSet{{Template: &cluster.Template{Requests: amount.List{amount.CPU: 100, amount.Pods: 1, of.resource: of.asks}}}}
				in.Pods = []Pod{pod("web", &cluster.Template{Requests: amount.List{amount.CPU: 1, amount.Pods: 1}})}
				if others {
					in.Pods = append(in.Pods, pod("worker", &cluster.Template{Requests: amount.List{of.resource: 1, amount.Pods: 1}}))
				}
				m := read(in)
				for _, o := range m.Offerings {
					want, got := map[string]int64{"large": of.large, "small": of.small, "plain": of.plain}[o.Type.Name], o.Room[slices.Index(m.Space.Names, amount.CPU)]
					if o.Room[slices.Index(m.Space.Names, amount.Pods)] == 0 {
						got = 0
					}
					if got != want {
						t.Errorf("%s has room for %d CPU, want %d", o.Type.Name, got, want)
					}
				}
				left := ""
				for _, l := range m.LeftOut {
					left += l.Pool.Spec.Name + ": " + l.Reason()
				}
				if left != of.left {
					t.Errorf("left out: %q, want %q", left, of.left)
				}
			})
		}
	}
}

// TestCombinationsOf lists the domains in which machines can be bought.
func TestCombinationsOf(t *testing.T) {
	m := read(input(pool("default"), pool("other")))
	o := m.OptionsFor(nil, nil, "", false)
	var got []string
	for _, at := range m.CombinationsOf(o, []string{api.LabelProvisioner, api.LabelZone}) {
		got = append(got, at.Domains[0].Value+"/"+at.Domains[1].Value)
	}
	if want := []string{"default/a", "default/b", "other/a", "other/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNodes(t *testing.T) {
	in := input(pool("default"))
	in.Leaving, in.Shut = map[string]bool{"going": true}, map[string]bool{"shut": true}
	in.Snapshot.Nodes = []cluster.Node{
		{Name: "b-new", Provisioner: "default"},
		{Name: "a-new", Provisioner: "default"},
		{Name: "z-up", Provisioner: "default", Initialized: true, Ready: true},
		{Name: "going", Provisioner: "default", Initialized: true, Ready: true},
		{Name: "shut", Provisioner: "default", Initialized: true, Ready: true},
		{Name: "cordoned", Provisioner: "default", Initialized: true, Ready: true, Unschedulable: true},
		{Name: "foreign-dead"},
		{Name: "foreign-up", Ready: true},
	}
	m := read(in)
	names := func(list []*Node) (out []string) {
		for _, n := range list {
			out = append(out, n.Name)
		}
		return out
	}
	if got, want := names(m.Nodes), []string{"cordoned", "foreign-up", "z-up", "a-new", "b-new"}; !slices.Equal(got, want) {
		t.Errorf("usable nodes %q, want %q", got, want)
	}
	if got, want := names(m.Closed), []string{"shut", "foreign-dead"}; !slices.Equal(got, want) {
		t.Errorf("other nodes %q, want %q", got, want)
	}
}

// TestExclusiveClaims: a claim that one pod may use is refused to the second.
func TestExclusiveClaims(t *testing.T) {
	in := input(pool("default"))
	in.Snapshot.Claims = []cluster.Claim{{Namespace: "default", Name: "data", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, VolumeName: "v"}}
	in.Snapshot.Volumes = []cluster.Volume{{Name: "v"}}
	tp := &cluster.Template{Namespace: "default", Requests: amount.List{amount.Pods: 1}, Claims: []cluster.ClaimRef{{Name: "data"}}}
	in.Pods = []Pod{pod("first", tp), pod("second", tp)}
	m := read(in)
	if len(m.Refusals) != 1 || m.Refusals[0].Pod != 1 || !strings.Contains(m.Refusals[0].Reason, "may be used by one pod only") {
		t.Errorf("refusals %+v, want that of the second pod", m.Refusals)
	}
}

// TestResidualsMerge: what two pods require of labels of the user's own goes together
// or it does not.
func TestResidualsMerge(t *testing.T) {
	m := read(input(pool("default")))
	residual := func(key, value string) int {
		return m.intern(match.Requirements(nil).With(key, labelset.Only(value)))
	}
	if _, ok := m.Merge(residual("team", "a"), residual("team", "b")); ok {
		t.Error("two values of one label go together")
	}
	both, ok := m.Merge(residual("team", "a"), residual("rack", "1"))
	if again, same := m.Merge(residual("rack", "1"), residual("team", "a")); !ok || !same || again != both {
		t.Error("values of two labels do not go together, or depend on their order")
	}
}

// TestOnlyWhatSomePodCanUseIsOffered: neither what a taint keeps all pods from nor what all
// pods select away.
func TestOnlyWhatSomePodCanUseIsOffered(t *testing.T) {
	gpu := corev1.Taint{Key: "gpu", Value: "true", Effect: corev1.TaintEffectNoSchedule}
	in := input(pool("default"), pool("tainted", gpu))
	selecting := func(of map[string]string) Pod { return pod("selects", &cluster.Template{NodeSelector: of}) }
	for name, of := range map[string]struct {
		pods []Pod
		want string
	}{
		"a taint":  {[]Pod{selecting(nil)}, "default/small/a default/small/b default/large/a default/large/b"},
		"no pod":   {nil, ""},
		"no place": {[]Pod{selecting(map[string]string{api.LabelZone: "c"})}, ""},
		"several": {
			[]Pod{selecting(map[string]string{api.LabelZone: "b"}), selecting(map[string]string{api.LabelZone: "a", api.LabelInstanceType: "large"})},
			"default/small/b default/large/a default/large/b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in.Pods = of.pods
			m := read(in)
			all := NewBitset(len(m.Offerings))
			for k := range m.Offerings {
				all.Add(k)
			}
			if got := sold(m, all); got != of.want {
				t.Errorf("offers %s, want %s", got, of.want)
			}
		})
	}
}

// TestLabelChoices: a Provisioner that leaves a label open sells machines apart on which
// different DaemonSets run, and those that they do not tell apart as one.
func TestLabelChoices(t *testing.T) {
	p := pool("default")
	p.Types = p.Types[1:]
	p.Spec.Spec.Requirements = []api.Requirement{{Key: "tier", Operator: api.OpIn, Values: []string{"bronze", "gold", "silver"}}}
	in := input(p)
	on := &cluster.Template{NodeSelector: map[string]string{"tier": "gold"}, Requests: amount.List{amount.CPU: 500}}
	in.Snapshot.DaemonSets = []cluster.DaemonSet{{Template: on}}
	in.Pods = append(in.Pods, pod("pod", &cluster.Template{Requests: amount.List{amount.CPU: 1}}))
	m := read(in)
	asking := func(values ...string) string {
		o := m.OptionsFor(match.Requirements{{Key: "tier", Set: labelset.Only(values...)}}, nil, "", false)
		var out []string
		for k := range o.Offerings.All {
			if m.LeavesChoice(o.Residual[0], &m.Offerings[k]) && m.Offerings[k].Offer.Zone == "a" {
				out = append(out, fmt.Sprint(m.LabelsOf(k, o.Residual[0])["tier"], " ", m.Offerings[k].Room[m.Space.index[amount.CPU]]))
			}
		}
		return strings.Join(out, ", ")
	}
	for _, of := range []struct {
		tiers []string
		want  string
	}{
		{[]string{"bronze", "gold", "silver"}, "bronze 2000, gold 1500"},
		{[]string{"silver"}, "silver 2000"},
		{[]string{"gold"}, "gold 1500"},
	} {
		if got := asking(of.tiers...); got != of.want {
			t.Errorf("for %v: %s, want %s", of.tiers, got, of.want)
		}
	}
	silver := m.intern(match.Requirements{{Key: "tier", Set: labelset.Only("silver")}})
	if !m.LeavesChoice(silver, &m.Offerings[0]) || m.LeavesChoice(silver, &m.Offerings[1]) {
		t.Errorf("silver is to be left by %v and not by %v", m.Offerings[0].LabelChoice, m.Offerings[1].LabelChoice)
	}
}

// TestVarietyMindsPodsThatCanHavePlaces: what is offered together is chosen so that pods have room,
// unless others lose theirs, which those cannot that have no place anywhere.
func TestVarietyMindsPodsThatCanHavePlaces(t *testing.T) {
	for name, of := range map[string]struct {
		claims bool // of the other pod, which cannot be planned
		want   int64
	}{"another pod keeps its room": {false, 4000}, "another pod has none in any case": {true, 8000}} {
		t.Run(name, func(t *testing.T) {
			p := pool("default")
			p.Spec.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpExists, MinValues: new(int32(2))}}
			// The second loses as little of the first one's room as the third, and costs less.
			p.Types = []offer.InstanceType{machineType("both", 8000, 100), machineType("memory", 4000, 200), machineType("cpu", 8000, 300)}
			p.Types[2].Capacity[amount.Memory] = 4
			for i := range p.Types {
				p.Types[i].Offerings = p.Types[i].Offerings[:1]
			}
			in := input(p)
			in.Pods = []Pod{
				pod("cpu", &cluster.Template{Requests: amount.List{amount.CPU: 8000, amount.Memory: 1, amount.Pods: 1}}),
				pod("other", &cluster.Template{Requests: amount.List{amount.CPU: 4000, amount.Memory: 8, amount.Pods: 1}, ResourceClaims: of.claims}),
			}
			m := read(in)
			for k := range m.Offerings {
				if o := &m.Offerings[k]; o.Type.Name == "both" && o.Room[m.Space.index[amount.CPU]] != of.want {
					t.Errorf("room for %d CPU, want %d", o.Room[m.Space.index[amount.CPU]], of.want)
				}
			}
		})
	}
}

// TestEffortOfAClass: pods that are alike may spend the same, whether they share a template or not, as those of an indexed
// Job.
func TestEffortOfAClass(t *testing.T) {
	shared := &cluster.Template{}
	for name, templates := range map[string][]*cluster.Template{
		"one template": {shared, shared, shared},
		"one for each": {{}, {}, {}},
		"one for two":  {{}, shared, shared},
	} {
		in := input(pool("default"))
		in.Pods = nil
		for i, template := range templates {
			in.Pods = append(in.Pods, pod(fmt.Sprint(i), template))
		}
		effort := NewEffort(in.Pods, 0)
		New(in, effort)
		classes := New(in, effort).Classes
		if want := int64(effortOfTemplate + 3*effortOfPod); len(classes) != 1 || classes[0].Account.limit != want || effort.share != effort.turn {
			t.Errorf("%s: %d classes, the first may spend %d, want %d", name, len(classes), classes[0].Account.limit, want)
		}
	}
}

// TestVarietyEndsWithEffort: nothing is chosen once more for pods that have spent what they may, and
// what is chosen for others counts.
func TestVarietyEndsWithEffort(t *testing.T) {
	p := pool("default")
	p.Spec.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpExists, MinValues: new(int32(2))}}
	m := read(input(p))
	v := &varieties{Supply: &m.Supply, pool: m.Pools[0]}
	v.note()
	tried := func(account Account) (n int) {
		m.Effort.Begin(&account)
		v.chooseFor(m.OptionsFor(nil, nil, "", false), make([]int64, len(m.Space.Names)), func(int, *Offering) bool { n++; return false })
		return n
	}
	if got := tried(Account{limit: 1000}); got == 0 {
		t.Error("nothing was tried although there is effort left")
	}
	if got := tried(Account{limit: 5}); got > 1 {
		t.Errorf("%d were tried with effort for one", got)
	}
}

// TestOfferingsAreSortedByCost holds what many loops rely on that end at the first offering that
// will do: within a Provisioner, none costs less than one before it.
func TestOfferingsAreSortedByCost(t *testing.T) {
	in := input(pool("a"), pool("b"))
	in.Provisioners[0].Types[0].Offerings[1].Price = 50 // the large type is cheaper in zone b
	in.NodeCost = 700
	m := read(in)
	for _, p := range m.Pools {
		of := m.Offerings[p.Offerings[0]:p.Offerings[1]]
		if len(of) != 4 || !slices.IsSortedFunc(of, func(a, b Offering) int { return cmp.Compare(a.Cost, b.Cost) }) {
			t.Errorf("provisioner %s: offerings %s are not sorted by cost", p.Spec.Name, sold(m, p.Mask))
		}
	}
}
