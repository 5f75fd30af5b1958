package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// scene is a pod that is to be placed, with pods that are there on nodes a and b, each in
// the zone of its name. Machines can be bought in zones a, b and c.
type scene struct {
	pod     *cluster.Template
	there   map[string][]*cluster.Template
	daemons []*cluster.Template // of DaemonSets
	// hostless is the node that has no host name label.
	hostless string
}

// set returns the state of a scene and the rules of the pod.
func (of *scene) set(t *testing.T) (*State, *Rules) {
	t.Helper()
	m := model.New(of.input(), model.NewEffort(nil, 0))
	groups := NewGroups([]cluster.Namespace{{Name: "default"}})
	s := NewState(groups, &m.Supply)
	r := &Rules{Class: m.Classes[0]}
	if err := groups.Read(r, false); err != nil {
		t.Fatal(err)
	}
	residents := map[*cluster.Template]*Resident{}
	for _, list := range of.there {
		for _, template := range list {
			residents[template] = &Resident{}
			groups.ReadResident(template, residents[template])
		}
	}
	for i := range m.DaemonSets {
		s.Daemons = append(s.Daemons, &Resident{})
		groups.ReadResident(m.DaemonSets[i].Template, s.Daemons[i])
	}
	groups.Resolve(r)
	for template, resident := range residents {
		groups.ResolveResident(template, resident)
	}
	for i := range m.DaemonSets {
		groups.ResolveResident(m.DaemonSets[i].Template, s.Daemons[i])
	}
	for _, n := range m.Nodes {
		view := &NodeView{Node: n, Counts: groups.AttachLimits(n.Node)}
		s.Nodes = append(s.Nodes, view)
		for _, template := range of.there[n.Name] {
			view.Counts = view.Counts.Plus(groups.Attachments(m.Volumes.Attached(template)), 1)
			s.Occupy(view, residents[template])
		}
	}
	s.RelateNodeSpreads([]*Rules{r}, nil)
	return s, r
}

func (of *scene) input() *model.Input {
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	for _, zone := range []string{"a", "b", "c"} {
		small.Offerings = append(small.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: 1})
	}
	in := &model.Input{
		Snapshot: &cluster.Snapshot{}, Binding: make([]amount.List, 1),
		Provisioners: []model.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Types: []offer.InstanceType{small}}},
		Pods:         []model.Pod{{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "pod"}, Template: of.pod}}},
	}
	for _, name := range []string{"a", "b"} {
		in.Snapshot.Nodes = append(in.Snapshot.Nodes, cluster.Node{
			Name: name, Ready: true, Labels: map[string]string{corev1.LabelHostname: name, api.LabelZone: name},
			VolumeLimits: map[string]int64{"ebs": 2},
		})
		for i := range 3 {
			in.Snapshot.Claims = append(in.Snapshot.Claims, cluster.Claim{Namespace: "default", Name: fmt.Sprint(name, i), VolumeName: fmt.Sprint("volume-", name, i)})
			in.Snapshot.Volumes = append(in.Snapshot.Volumes, cluster.Volume{Name: fmt.Sprint("volume-", name, i), Driver: "ebs"})
		}
	}
	in.Snapshot.StorageClasses = []cluster.StorageClass{{Name: "gp3", Driver: cluster.EBSDriver, WaitForFirstConsumer: true}}
	in.Snapshot.Claims = append(in.Snapshot.Claims, cluster.Claim{Namespace: "default", Name: "unbound", StorageClass: &in.Snapshot.StorageClasses[0].Name})
	for _, n := range in.Snapshot.Nodes {
		if n.Name == of.hostless {
			delete(n.Labels, corev1.LabelHostname)
		}
	}
	in.Snapshot.Pods = []cluster.Pod{*in.Pods[0].Pod}
	for _, node := range []string{"a", "b"} {
		for i, template := range of.there[node] {
			key := cluster.PodKey{Namespace: "default", Name: fmt.Sprint(node, i)}
			in.Snapshot.Pods = append(in.Snapshot.Pods, cluster.Pod{PodKey: key, Template: template, NodeName: node, State: cluster.PodBound})
		}
	}
	for _, template := range of.daemons {
		in.Snapshot.DaemonSets = append(in.Snapshot.DaemonSets, cluster.DaemonSet{Template: template})
	}
	in.Key = NewKey(in.Snapshot).Append
	return in
}

// nodes lists the nodes that accept the pod, as kube-scheduler would.
func nodes(s *State, r *Rules) string {
	var out []string
	for _, n := range s.Nodes {
		if s.Accepts(r, n, AssignmentOf(r.Keys, n.Node)) {
			out = append(out, n.Name)
		}
	}
	return strings.Join(out, " ")
}

// zones lists the zones in which a machine may be bought for the pod.
func zones(s *State, r *Rules, relaxed Relaxed) string {
	var out []string
	for _, zone := range []string{"a", "b", "c"} {
		at := &DomainAssignment{Keys: []string{api.LabelZone}, Domains: []model.Domain{{Value: zone, Known: true}}}
		if _, ok := s.Admits(r, at, relaxed); ok {
			out = append(out, zone)
		}
	}
	return strings.Join(out, " ")
}

var app = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// web is a pod that app selects, changed.
func web(change ...func(*cluster.Template)) *cluster.Template {
	out := &cluster.Template{Namespace: "default", Labels: app.MatchLabels, Requests: amount.List{amount.CPU: 100, amount.Pods: 1}}
	for _, c := range change {
		c(out)
	}
	return out
}

// other is a pod that app does not select.
func other(change ...func(*cluster.Template)) *cluster.Template {
	return web(append(change, func(t *cluster.Template) { t.Labels = nil })...)
}

func spread(key string, skew int32, when corev1.UnsatisfiableConstraintAction) func(*cluster.Template) {
	return func(t *cluster.Template) {
		t.Spread = append(t.Spread, corev1.TopologySpreadConstraint{TopologyKey: key, MaxSkew: skew, WhenUnsatisfiable: when, LabelSelector: app})
	}
}

func terms(key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: app}}
}

func with(key string) func(*cluster.Template) {
	return func(t *cluster.Template) {
		t.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(key)}}
	}
}

func without(key string) func(*cluster.Template) {
	return func(t *cluster.Template) {
		t.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(key)}}
	}
}

func port(ip string, number int32) func(*cluster.Template) {
	return func(t *cluster.Template) {
		t.HostPorts = append(t.HostPorts, cluster.HostPort{IP: ip, Protocol: corev1.ProtocolTCP, Port: number})
	}
}

func claim(names ...string) func(*cluster.Template) {
	return func(t *cluster.Template) {
		for _, name := range names {
			t.Claims = append(t.Claims, cluster.ClaimRef{Name: name})
		}
	}
}

type there = map[string][]*cluster.Template

const hard, soft = corev1.DoNotSchedule, corev1.ScheduleAnyway

// TestKinds has each kind of constraint say where a pod may go and, where it is what leaves
// no place, why.
func TestKinds(t *testing.T) {
	for name, of := range map[string]struct {
		scene
		nodes, zones string
		reason       string // what the explanation contains
	}{
		"nothing asked": {scene: scene{pod: web(), there: there{"a": {web()}}}, nodes: "a b", zones: "a b c", reason: "leave no node"},

		"host port taken":             {scene: scene{pod: web(port("", 80)), there: there{"a": {other(port("", 80))}}}, nodes: "b", zones: "a b c"},
		"host port of another IP":     {scene: scene{pod: web(port("10.0.0.1", 80)), there: there{"a": {other(port("10.0.0.2", 80))}}}, nodes: "a b", zones: "a b c"},
		"host port of any IP":         {scene: scene{pod: web(port("10.0.0.1", 80)), there: there{"a": {other(port("0.0.0.0", 80))}}}, nodes: "b", zones: "a b c"},
		"attach limit reached":        {scene: scene{pod: web(claim("b0")), there: there{"a": {other(claim("a0", "a1"))}}}, nodes: "b", zones: "a b c"},
		"attach limit left":           {scene: scene{pod: web(claim("b0")), there: there{"a": {other(claim("a0"))}}}, nodes: "a b", zones: "a b c"},
		"shared volume attached once": {scene: scene{pod: web(claim("a0")), there: there{"a": {other(claim("a0", "a1"))}}}, nodes: "a b", zones: "a b c"},

		"unbound claim that others use":                         {scene: scene{pod: web(claim("unbound")), there: there{"b": {other(claim("unbound"))}}}, nodes: "b", zones: "b", reason: "share its persistent volume claim default/unbound are in b"},
		"unbound claim that others use, and affinity to itself": {scene: scene{pod: web(claim("unbound"), with(api.LabelZone)), there: there{"b": {other(claim("unbound"))}}}, nodes: "b", zones: "b"},
		"unbound claim that nobody else uses":                   {scene: scene{pod: web(claim("unbound")), there: there{"b": {other(claim("b0"))}}}, nodes: "a b", zones: "a b c"},

		"spread over zones":           {scene: scene{pod: web(spread(api.LabelZone, 1, hard)), there: there{"a": {web()}}}, nodes: "b", zones: "b c", reason: "1 in a, 0 in b, 0 in c"},
		"spread with a skew of two":   {scene: scene{pod: web(spread(api.LabelZone, 2, hard)), there: there{"a": {web()}}}, nodes: "a b", zones: "a b c", reason: "skew of at most 2"},
		"spread of others":            {scene: scene{pod: other(spread(api.LabelZone, 1, hard)), there: there{"a": {web()}}}, nodes: "a b", zones: "a b c", reason: "topology spread"},
		"spread over nodes":           {scene: scene{pod: web(spread(corev1.LabelHostname, 1, hard)), there: there{"a": {web()}}}, nodes: "b", zones: "a b c"},
		"spread over an unknown key":  {scene: scene{pod: web(spread("rack", 1, hard))}, nodes: "", zones: "", reason: "no node has that label"},
		"spread that is a preference": {scene: scene{pod: web(spread(api.LabelZone, 1, soft)), there: there{"a": {web()}}}, nodes: "a b", zones: "b c", reason: "leave no node"},

		"affinity over zones":               {scene: scene{pod: other(with(api.LabelZone)), there: there{"a": {web()}}}, nodes: "a", zones: "a", reason: "the pods that it asks for are in a"},
		"affinity to nobody":                {scene: scene{pod: other(with(api.LabelZone))}, nodes: "", zones: "", reason: "there is no pod that it asks for"},
		"affinity to itself":                {scene: scene{pod: web(with(api.LabelZone))}, nodes: "a b", zones: "a b c"},
		"affinity to itself, once it began": {scene: scene{pod: web(with(api.LabelZone)), there: there{"b": {web()}}}, nodes: "b", zones: "b"},
		"affinity over nodes":               {scene: scene{pod: other(with(corev1.LabelHostname)), there: there{"a": {web()}}}, nodes: "a", zones: "a b c", reason: "has room for it"},
		"affinity over nodes to itself":     {scene: scene{pod: web(with(corev1.LabelHostname))}, nodes: "a b", zones: "a b c"},

		"anti-affinity over zones":           {scene: scene{pod: other(without(api.LabelZone)), there: there{"a": {web()}}}, nodes: "b", zones: "b c", reason: "keeps away from are in a"},
		"anti-affinity over nodes":           {scene: scene{pod: other(without(corev1.LabelHostname)), there: there{"a": {web()}}}, nodes: "b", zones: "a b c"},
		"anti-affinity of others over zones": {scene: scene{pod: web(), there: there{"a": {other(without(api.LabelZone))}}}, nodes: "b", zones: "b c", reason: "keeps it out of a"},
		"anti-affinity of others over nodes": {scene: scene{pod: web(), there: there{"a": {other(without(corev1.LabelHostname))}}}, nodes: "b", zones: "a b c"},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := of.set(t)
			if got := nodes(s, r); got != of.nodes {
				t.Errorf("accepted on nodes %q, want %q", got, of.nodes)
			}
			if got := zones(s, r, 0); got != of.zones {
				t.Errorf("admitted in zones %q, want %q", got, of.zones)
			}
			if got := s.Explain(r, 4); !strings.Contains(got, of.reason) {
				t.Errorf("explained by %q, want %q", got, of.reason)
			}
		})
	}
}

// TestPlacedPodsCount: what a pod does to the next one of its class, once it is placed and
// after it has been taken away again.
func TestPlacedPodsCount(t *testing.T) {
	for name, of := range map[string]struct {
		pod   *cluster.Template
		after string // where the next one may go
	}{
		"host port":                {web(port("", 80)), "b"},
		"spread over zones":        {web(spread(api.LabelZone, 1, hard)), "b"},
		"spread over nodes":        {web(spread(corev1.LabelHostname, 1, hard)), "b"},
		"affinity over zones":      {web(with(api.LabelZone)), "a"},
		"affinity over nodes":      {web(with(corev1.LabelHostname)), "a"},
		"anti-affinity over zones": {web(without(api.LabelZone)), "b"},
		"anti-affinity over nodes": {web(without(corev1.LabelHostname)), "b"},
		"volumes":                  {web(claim("a0", "a1")), "b"},
		"nothing":                  {web(), "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := (&scene{pod: of.pod}).set(t)
			first := s.Nodes[0]
			at := AssignmentOf(r.Keys, first.Node)
			s.Place(r, first, at, 1)
			if got := nodes(s, r); got != of.after {
				t.Errorf("after one on node a the next may go to %q, want %q", got, of.after)
			}
			s.EnterNode(r, at, first.Node, -1)
			s.Join(r, -1)
			first.Counts = nil
			if got := nodes(s, r); got != "a b" {
				t.Errorf("once it is away they may go to %q, want both", got)
			}
		})
	}
}

// TestPreferences are constraints until they are given up, the least important first.
func TestPreferences(t *testing.T) {
	weighted := func(weight int32) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: api.LabelZone, LabelSelector: app}}
	}
	pod := web(spread(api.LabelZone, 1, soft), func(t *cluster.Template) {
		t.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 50, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}},
			}}},
			PodAffinity:     &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(80)}},
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{weighted(20)}},
		}
	})
	s, r := (&scene{pod: pod, there: there{"a": {web()}}}).set(t)
	want := []string{
		"preferred pod anti-affinity over " + api.LabelZone, "preferred node affinity disk In [ssd]",
		"preferred pod affinity over " + api.LabelZone, "topology spread over " + api.LabelZone,
	}
	if got := r.GivenUp(r.Everything()); !slices.Equal(got, want) {
		t.Fatalf("preferences %q, want %q", got, want)
	}
	for relaxed, want := range map[Relaxed]string{
		0b0000: "",      // affinity and anti-affinity contradict each other
		0b0001: "",      // affinity and the spread do
		0b1001: "a",     // the affinity alone
		0b0100: "b c",   // the anti-affinity and the spread
		0b1101: "a b c", // none about domains
	} {
		if got := zones(s, r, relaxed); got != want {
			t.Errorf("without %q: zones %q, want %q", r.GivenUp(relaxed), got, want)
		}
	}
	if requires, _ := r.Requires(0, 0); len(requires) != 1 {
		t.Errorf("requires %v, want the disk", requires)
	}
	if requires, _ := r.Requires(0, 0b0010); len(requires) != 0 {
		t.Errorf("requires %v although that is given up", requires)
	}
}

// TestTaintsAreGivenUpLast: that PreferNoSchedule taints keep a pod away.
func TestTaintsAreGivenUpLast(t *testing.T) {
	in := (&scene{pod: web(spread(api.LabelZone, 1, soft))}).input()
	m := model.New(in, model.NewEffort(nil, 0))
	r := &Rules{Class: m.Classes[0]}
	if err := NewGroups(nil).Read(r, true); err != nil {
		t.Fatal(err)
	}
	if got := r.GivenUp(r.Everything()); len(got) != 2 || got[1] != "PreferNoSchedule taints" {
		t.Errorf("preferences %q, want the taints last", got)
	}
	if _, honour := r.Requires(0, 0b01); !honour {
		t.Error("the taints do not keep the pod away")
	}
	if _, honour := r.Requires(0, 0b11); honour {
		t.Error("the taints keep the pod away although that is given up")
	}
}

// TestNodePreferences are noted where they are not met.
func TestNodePreferences(t *testing.T) {
	preferred := func(t *cluster.Template) {
		term := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: terms(corev1.LabelHostname)[0]}}
		t.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: term}}
	}
	_, r := (&scene{pod: web(preferred, spread(corev1.LabelHostname, 2, soft))}).set(t)
	met := func(pods int64) (out []bool) {
		for i := range r.Soft {
			out = append(out, r.Soft[i].Met(pods))
		}
		return out
	}
	for pods, want := range map[int64][]bool{1: {false, true}, 2: {true, true}, 3: {true, false}} {
		if got := met(pods); !slices.Equal(got, want) {
			t.Errorf("of %d pods, affinity and spread met: %v, want %v", pods, got, want)
		}
	}
}

// TestDaemonSets: their pods keep others off the machines that they come to, or draw them there.
func TestDaemonSets(t *testing.T) {
	inZone := func(zone string) func(*cluster.Template) {
		return func(t *cluster.Template) { t.NodeSelector = map[string]string{api.LabelZone: zone} }
	}
	for name, of := range map[string]struct {
		pod, daemon *cluster.Template
		want        string
		lent        int
	}{
		"nothing asked":                 {other(), web(inZone("b")), "a b c", 0},
		"anti-affinity":                 {other(without(api.LabelZone)), web(inZone("b")), "a c", 0},
		"anti-affinity of the daemon":   {web(), other(without(api.LabelZone), inZone("b")), "a c", 0},
		"anti-affinity over no label":   {other(without(api.LabelReservationID)), web(inZone("b")), "a b c", 0},
		"affinity over zones":           {other(with(api.LabelZone)), web(inZone("b")), "b", 1},
		"affinity over nodes":           {other(with(corev1.LabelHostname)), web(inZone("b")), "b", 0},
		"affinity that no daemon meets": {other(with(api.LabelZone)), other(inZone("b")), "a b c", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := (&scene{pod: of.pod, daemons: []*cluster.Template{of.daemon}}).set(t)
			left := s.supply.OptionsFor(nil, nil, "", false).Offerings.Clone()
			lent := s.RespectDaemons(left, r)
			var in []string
			for k := range left.All {
				in = append(in, s.supply.Offerings[k].Offer.Zone)
			}
			if got := strings.Join(in, " "); got != of.want || len(lent) != of.lent {
				t.Errorf("bought in %q with %d groups lent, want %q with %d", got, len(lent), of.want, of.lent)
			}
		})
	}
}

// TestDaemonSetsThatAreKeptOff: a zone that a running pod keeps a DaemonSet out of has none of
// the pods that others must not meet.
func TestDaemonSetsThatAreKeptOff(t *testing.T) {
	keeper := other(without(api.LabelZone))
	s, r := (&scene{pod: keeper, there: there{"a": {keeper}}, daemons: []*cluster.Template{web()}}).set(t)
	s.KeepDaemonsOff()
	left := s.supply.OptionsFor(nil, nil, "", false).Offerings.Clone()
	s.RespectDaemons(left, r)
	var in []string
	for k := range left.All {
		in = append(in, s.supply.Offerings[k].Offer.Zone)
	}
	if got := strings.Join(in, " "); got != "a" {
		t.Errorf("bought in %q, want only in a", got)
	}
	for k := range s.supply.Offerings {
		want := s.supply.Offerings[k].Offer.Zone != "a"
		if got := len(s.DaemonsOn(k)) == 1; got != want {
			t.Errorf("in zone %s there is a pod of the DaemonSet: %v, want %v", s.supply.Offerings[k].Offer.Zone, got, want)
		}
	}
}

// TestNodeSpreadGoesByDaemonSets: of a pod that every node has there may be one more.
func TestNodeSpreadGoesByDaemonSets(t *testing.T) {
	pod := web(spread(corev1.LabelHostname, 1, hard))
	_, alone := (&scene{pod: pod}).set(t)
	_, beside := (&scene{pod: pod, there: there{"a": {web()}, "b": {web()}}, daemons: []*cluster.Template{web()}}).set(t)
	if one, two := NodeCounts(nil).Room(alone.PerNode, 9), NodeCounts(nil).Room(beside.PerNode, 9); one != 1 || two != 2 {
		t.Errorf("room for %d alone and %d beside DaemonSets, want 1 and 2", one, two)
	}
}

// TestNodeSpreadThatWantsNodes goes by the fewest pods only once there are, or are planned,
// as many nodes as it wants.
func TestNodeSpreadThatWantsNodes(t *testing.T) {
	three := int32(3)
	pod := web(spread(corev1.LabelHostname, 1, hard), func(t *cluster.Template) { t.Spread[0].MinDomains = &three })
	s, r := (&scene{pod: pod, there: there{"a": {web()}, "b": {web()}}, daemons: []*cluster.Template{web()}}).set(t)
	if n := NodeCounts(nil).Room(r.PerNode, 9); n != 1 {
		t.Errorf("room for %d on each of two nodes, want 1", n)
	}
	s.RelateNodeSpreads([]*Rules{r}, []*model.Node{{Node: &cluster.Node{}}})
	if n := NodeCounts(nil).Room(r.PerNode, 9); n != 2 {
		t.Errorf("room for %d once a third is planned, want 2", n)
	}
	s.RelateNodeSpreads([]*Rules{r}, nil)
	if n := NodeCounts(nil).Room(r.PerNode, 9); n != 1 {
		t.Errorf("room for %d once it is not planned any more, want 1", n)
	}
}

// TestNodeSpreadWithoutOffers: where no machine counts there may be one more than every node
// has by now.
func TestNodeSpreadWithoutOffers(t *testing.T) {
	onNodes := func(t *cluster.Template) {
		t.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
			}}},
		}}}
	}
	pod := web(spread(corev1.LabelHostname, 1, hard), onNodes)
	s, r := (&scene{pod: pod, there: there{"a": {web()}}}).set(t)
	if got := nodes(s, r); got != "b" {
		t.Errorf("accepted on %q, want b", got)
	}
	s.Place(r, s.Nodes[1], AssignmentOf(r.Keys, s.Nodes[1].Node), 1)
	s.RelateNodeSpreads([]*Rules{r}, nil)
	if got := nodes(s, r); got != "a b" {
		t.Errorf("accepted on %q once each has one, want a b", got)
	}
}

// TestNodeWithoutHostName: constraints over the host name count nothing there, but a port is
// taken.
func TestNodeWithoutHostName(t *testing.T) {
	apart := func(t *cluster.Template) {
		t.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: app},
		}}}
	}
	port := func(t *cluster.Template) { t.HostPorts = []cluster.HostPort{{Protocol: "TCP", Port: 80}} }
	for name, of := range map[string]struct {
		pod, there *cluster.Template
		want       int64
	}{
		"apart":             {web(apart), web(apart), 9},
		"others keep apart": {web(), web(apart), 9},
		"a port":            {web(port), web(port), 0},
	} {
		s, r := (&scene{pod: of.pod, there: there{"a": {of.there}}, hostless: "a"}).set(t)
		if got := s.RoomOn(s.Nodes[0], r.PerNode, 9); got != of.want {
			t.Errorf("%s: room for %d, want %d", name, got, of.want)
		}
	}
}

// TestSpreadCountsNodes by their labels and taints as its policies say.
func TestSpreadCountsNodes(t *testing.T) {
	honour := corev1.NodeInclusionPolicyHonor
	pod := web(spread(api.LabelZone, 1, hard), func(t *cluster.Template) {
		t.Spread[0].NodeTaintsPolicy = &honour
		t.NodeSelector = map[string]string{"disk": "ssd"}
	})
	s, r := (&scene{pod: pod}).set(t)
	g := s.List[r.Spreads()[0].Group()]
	ssd := map[string]string{"disk": "ssd"}
	taint := []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	for name, of := range map[string]struct {
		node *model.Node
		want bool
	}{
		"as selected":  {&model.Node{Node: &cluster.Node{Labels: ssd}}, true},
		"not selected": {&model.Node{Node: &cluster.Node{}}, false},
		"tainted":      {&model.Node{Node: &cluster.Node{Labels: ssd}, Taints: taint}, false},
	} {
		if got := g.Counts(of.node); got != of.want {
			t.Errorf("%s: counts %v, want %v", name, got, of.want)
		}
	}
}

// TestMinDomains: as long as there are fewer domains than a spread wants, none counts for more
// than the skew.
func TestMinDomains(t *testing.T) {
	five := int32(5)
	pod := web(spread(api.LabelZone, 1, hard), func(t *cluster.Template) { t.Spread[0].MinDomains = &five })
	s, r := (&scene{pod: pod, there: there{"a": {web()}, "b": {web()}}}).set(t)
	if got := zones(s, r, 0); got != "c" {
		t.Errorf("zones %q, want c", got)
	}
	if got := s.Explain(r, 4); !strings.Contains(got, "at least 5 domains are required") {
		t.Errorf("explained by %q", got)
	}
}

// TestFewest has pods come and go at random: the smallest count of the domains is always right, and
// finding it takes a few steps for each pod that comes, however many domains there are.
func TestFewest(t *testing.T) {
	for name, goes := range map[string]int{"pods come": 0, "pods come and go": 3} {
		t.Run(name, func(t *testing.T) {
			s, r := (&scene{pod: web(spread(api.LabelZone, 1, hard))}).set(t)
			c, random := r.Spreads()[0], rand.New(rand.NewPCG(1, 2))
			g, n := s.List[c.group], 1000
			c.domains, c.next = nil, n
			for i := range n {
				c.domains = append(c.domains, fmt.Sprint(i))
			}
			before := s.supply.Effort.Total
			for range 5 * n {
				value, k := c.domains[random.IntN(n)], int64(1)
				if g.count[value] > 0 && random.IntN(10) < goes {
					k = -1
				}
				s.enter(r, &DomainAssignment{Keys: []string{g.Key}, Domains: []model.Domain{{Value: value, Known: true}}}, k, func(*Group) bool { return true })
				want := g.count[c.domains[0]]
				for _, d := range c.domains {
					want = min(want, g.count[d])
				}
				if got := s.fewest(r, c); got != want {
					t.Fatalf("the fewest are %d, want %d", got, want)
				}
			}
			if spent := s.supply.Effort.Total - before; goes == 0 && spent > int64(10*5*n) {
				t.Errorf("took %d steps for %d pods", spent, 5*n)
			}
		})
	}
}

// TestUnreadable constraints are errors that say which it is.
func TestUnreadable(t *testing.T) {
	bad := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}
	for name, pod := range map[string]*cluster.Template{
		"spread": web(spread(api.LabelZone, 1, hard), func(t *cluster.Template) { t.Spread[0].LabelSelector = bad }),
		"affinity": web(with(api.LabelZone), func(t *cluster.Template) {
			t.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = bad
		}),
		"anti-affinity": web(without(api.LabelZone), func(t *cluster.Template) {
			t.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = bad
		}),
	} {
		t.Run(name, func(t *testing.T) {
			m := model.New((&scene{pod: pod}).input(), model.NewEffort(nil, 0))
			if err := NewGroups(nil).Read(&Rules{Class: m.Classes[0]}, false); err == nil || !strings.Contains(err.Error(), api.LabelZone) {
				t.Errorf("error %v, want one that names %s", err, api.LabelZone)
			}
		})
	}
}

// TestTakesResident: pods of DaemonSets stay off nodes where others keep them off, or they
// would meet pods that they must not meet.
func TestTakesResident(t *testing.T) {
	for name, of := range map[string]struct {
		there, daemon *cluster.Template
		want          bool
	}{
		"nothing asked":                        {web(), web(), true},
		"anti-affinity over nodes":             {other(without(corev1.LabelHostname)), web(), false},
		"anti-affinity over zones":             {other(without(api.LabelZone)), web(), false},
		"anti-affinity of its own over nodes":  {web(), other(without(corev1.LabelHostname)), false},
		"anti-affinity of its own over zones":  {web(), other(without(api.LabelZone)), false},
		"the same host port":                   {other(port("", 80)), web(port("", 80)), false},
		"another host port":                    {other(port("", 80)), web(port("", 81)), true},
		"anti-affinity to pods of another app": {other(without(api.LabelZone)), other(), true},
	} {
		s, _ := (&scene{pod: web(), there: there{"a": {of.there}}, daemons: []*cluster.Template{of.daemon}}).set(t)
		if got := s.TakesResident(s.Nodes[0], s.Daemons[0]); got != of.want {
			t.Errorf("%s: taken %v, want %v", name, got, of.want)
		}
	}
}
