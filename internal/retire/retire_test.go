package retire

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func up(name string, p *api.Provisioner, pods ...*cluster.Pod) *Node {
	return &Node{
		Node:        &cluster.Node{Name: name, Provisioner: p.Name, Initialized: true, Ready: true, Created: noon.Add(-time.Hour), Labels: map[string]string{api.LabelProvisioner: p.Name}, Annotations: map[string]string{}},
		Provisioner: p, Pods: pods,
	}
}

func provisioner(change func(*api.ProvisionerSpec)) *api.Provisioner {
	p := &api.Provisioner{}
	p.Name = "default"
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func seconds(n int64) *int64 { return &n }

func web() *cluster.Pod {
	return &cluster.Pod{
		PodKey: cluster.PodKey{Namespace: "d", Name: "web"}, State: cluster.PodBound, Owner: cluster.Owner{Kind: "ReplicaSet"},
		Template: &cluster.Template{Namespace: "d", Labels: map[string]string{"app": "web"}},
	}
}

func TestProtected(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Node)
		budgets []cluster.PodDisruptionBudget
		policy  Policy
		want    string
	}{
		"nothing":                          {want: ""},
		"blocked":                          {change: func(n *Node) { n.Blocked = "it is invalid" }, want: "the agent may not act for provisioner default now: it is invalid"},
		"not up":                           {change: func(n *Node) { n.Initialized = false }, want: "it is not up yet"},
		"lost contact":                     {change: func(n *Node) { n.Ready = false }, want: "it is not ready"},
		"nominated":                        {change: func(n *Node) { n.Nominated = true }, want: "pods are about to be bound to it"},
		"annotation":                       {change: func(n *Node) { n.Annotations[api.AnnotationDoNotDisrupt] = "true" }, want: "it has the annotation karpenter.sh/do-not-disrupt"},
		"false is no bar":                  {change: func(n *Node) { n.Annotations[api.AnnotationDoNotDisrupt] = "false" }, want: ""},
		"pod":                              {change: func(n *Node) { n.Pods[0].Template.DoNotDisrupt = true }, want: "pod d/web must not be disrupted"},
		"no controller":                    {change: func(n *Node) { n.Pods[0].Owner.Kind = "" }, want: "pod d/web has no controller that would replace it"},
		"no controller, allowed":           {change: func(n *Node) { n.Pods[0].Owner.Kind = "" }, policy: Policy{EvictOwnerless: true}, want: ""},
		"no controller, made for the node": {change: func(n *Node) { pin(n, "n") }, want: ""},
		"no controller, made for another":  {change: func(n *Node) { pin(n, "m") }, want: "pod d/web has no controller that would replace it"},
		"young":                            {policy: Policy{MinLifetime: 2 * time.Hour}, want: "it is younger than 2h"},
		"old enough":                       {policy: Policy{MinLifetime: time.Hour}, want: ""},
		"budget": {
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}},
			want:    "PodDisruptionBudget d/b allows no eviction of pod d/web now",
		},
		"budget with room": {budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}, DisruptionsAllowed: 1}}, want: ""},
		"budget, but the pod is not evicted": {
			change:  func(n *Node) { n.Pods[0].Covered = true },
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}},
		},
		"budget, but the pod has not been started": {
			change:  func(n *Node) { n.Pods[0].Running = false },
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}},
		},
		"two budgets": {
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}, DisruptionsAllowed: 1}, {Namespace: "d", Name: "c", Selector: &metav1.LabelSelector{}, DisruptionsAllowed: 1}},
			want:    "pod d/web is under PodDisruptionBudgets b and c, so it cannot be evicted",
		},
		"two budgets, but the pod has not been started": {
			change:  func(n *Node) { n.Pods[0].Running = false },
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}, {Namespace: "d", Name: "c", Selector: &metav1.LabelSelector{}}},
		},
		"two budgets, but the pod is not evicted": {
			change:  func(n *Node) { n.Pods[0].Covered = true },
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}, {Namespace: "d", Name: "c", Selector: &metav1.LabelSelector{}}},
		},
		"pod, of a NodePool":                           {change: func(n *Node) { ofNodePool(n, 0); n.Pods[0].Template.DoNotDisrupt = true }, want: "pod d/web must not be disrupted"},
		"pod, of a NodePool whose drains have a limit": {change: func(n *Node) { ofNodePool(n, time.Hour); n.Pods[0].Template.DoNotDisrupt = true }, want: ""},
		"pod, of a Provisioner whose drains have a limit": {
			change: func(n *Node) {
				ofNodePool(n, time.Hour)
				delete(n.Labels, api.LabelNodePool)
				n.Pods[0].Template.DoNotDisrupt = true
			},
			want: "pod d/web must not be disrupted",
		},
		"budget, of a NodePool whose drains have a limit": {
			change:  func(n *Node) { ofNodePool(n, time.Hour) },
			budgets: []cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}, {Namespace: "d", Name: "c", Selector: &metav1.LabelSelector{}}},
		},
		"annotation, of a NodePool whose drains have a limit": {
			change: func(n *Node) { ofNodePool(n, time.Hour); n.Annotations[api.AnnotationDoNotDisrupt] = "true" },
			want:   "it has the annotation karpenter.sh/do-not-disrupt",
		},
		"surge cannot move it now": {change: func(n *Node) { n.Pods[0].Covered, n.Pods[0].Held = true, "was not moved" }, want: "pod d/web was not moved"},
		"its deletion was refused": {change: func(n *Node) { n.Refused = "it could not be deleted" }, want: "it could not be deleted"},
		"budget elsewhere":         {budgets: []cluster.PodDisruptionBudget{{Namespace: "e", Name: "b", Selector: &metav1.LabelSelector{}}}, want: ""},
	} {
		n := up("n", provisioner(nil), web())
		n.Pods[0].Running = true
		if c.change != nil {
			c.change(n)
		}
		if got := (&Case{DueNode: DueNode{Node: n, Reason: Drifted}, Now: noon, PDBs: NewPDBs(c.budgets), Policy: c.policy}).Protected(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// pin makes the first pod of a node one without a controller that may run on one node only, as those that mount volumes
// of Mountpoint for Amazon S3.
func pin(n *Node, to string) {
	p := n.Pods[0]
	p.Owner, p.NodeName = cluster.Owner{}, n.Name
	p.Template.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{to}}}}},
	}}}
}

// ofNodePool makes a node one of a NodePool, whose terminationGracePeriod is the limit.
func ofNodePool(n *Node, limit time.Duration) {
	n.Labels[api.LabelNodePool] = "default"
	if limit > 0 {
		n.Provisioner.Spec.Disruption = &api.Disruption{TerminationGracePeriod: &metav1.Duration{Duration: limit}}
	}
}

// TestDriftWithinTheLimit: a node of a NodePool that was chosen as drifted goes on although its pods must not be
// disrupted by now; one that was chosen for another reason does not.
func TestDriftWithinTheLimit(t *testing.T) {
	pdbs := NewPDBs([]cluster.PodDisruptionBudget{{Namespace: "d", Name: "b", Selector: &metav1.LabelSelector{}}})
	for reason, held := range map[string]bool{api.ReasonDrift: false, api.ReasonExpiry: true, api.ReasonConsolidation: true} {
		n := up("n", provisioner(nil), web())
		ofNodePool(n, time.Hour)
		n.Annotations[api.AnnotationDisruption] = reason
		n.Pods[0].Running, n.Pods[0].Template.DoNotDisrupt = true, true
		c := &Case{DueNode: DueNode{Node: n}, Now: noon, PDBs: pdbs}
		if vetoed, delayed := c.Vetoed() != "", c.Delayed() != ""; vetoed != held || delayed != held {
			t.Errorf("%s: vetoed %t, delayed %t, want %t", reason, vetoed, delayed, held)
		}
	}
}

// Nodes that nobody uses come first, with all of their reasons.
func TestReasonsAndOrder(t *testing.T) {
	p := provisioner(func(s *api.ProvisionerSpec) {
		s.TTLSecondsUntilExpired, s.TTLSecondsAfterEmpty = seconds(60), seconds(0)
	})
	older := up("z", p, web())
	older.Created = noon.Add(-2 * time.Hour)
	got := ""
	for _, f := range Voluntary([]*Node{up("used", p, web()), up("unused", p), older}, noon) {
		got += fmt.Sprintf("%s: %s, %s; ", f.Node.Name, f.Reason, f.Message)
	}
	if want := "unused: expiry, older than 1m; unused: emptiness, no workload pods for 0s; z: expiry, older than 1m; used: expiry, older than 1m; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestForced(t *testing.T) {
	gone := provisioner(nil)
	gone.DeletionTimestamp = &metav1.Time{Time: noon}
	late := up("late", provisioner(nil))
	late.Initialized, late.Ready, late.Unreadiness = false, false, "cni plugin not initialized"
	slow := up("slow", provisioner(nil))
	slow.Initialized = false // ready, but startup taints are still there
	withGPU := func(name string, pods ...*cluster.Pod) *Node {
		n := up(name, provisioner(nil), pods...)
		n.Initialized, n.Awaited = false, []string{"nvidia.com/gpu"}
		return n
	}
	got := ""
	for _, f := range Forced([]*Node{late, up("orphan", gone, web()), slow, up("fine", provisioner(nil)), withGPU("useful", web()), withGPU("waiting")}, noon, Policy{StartupTimeout: 15 * time.Minute}) {
		got += fmt.Sprintf("%s: %s (voluntary %v); ", f.Node.Name, f.Message, f.Reason.Voluntary())
	}
	if want := "late: not ready 15m after it was launched: cni plugin not initialized (voluntary false); orphan: provisioner default is being deleted (voluntary false); " +
		"waiting: no device plugin has registered nvidia.com/gpu 15m after it was launched (voluntary false); "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Pods run on a node that is not initialized, because nothing removes its startup taints. It has been up: it
// goes when its kubelet has been silent for long, and not together with many others.
func TestForcedWithoutInitialization(t *testing.T) {
	running := func(change func(*cluster.Pod)) *cluster.Pod {
		p := web()
		p.Running = true
		if change != nil {
			change(p)
		}
		return p
	}
	going := running(func(p *cluster.Pod) { p.State = cluster.PodTerminating })
	agent := running(func(p *cluster.Pod) { p.Template.DaemonSet = true })
	for name, c := range map[string]struct {
		pod            *cluster.Pod
		nodes, unready int
		since          time.Duration
		want           string
	}{
		"for a minute":                        {running(nil), 1, 1, time.Minute, ""},
		"for long":                            {running(nil), 1, 1, 11 * time.Minute, "unhealthy "},
		"Kubernetes has evicted the pod":      {going, 1, 1, 6 * time.Minute, ""},
		"and for long":                        {going, 1, 1, 11 * time.Minute, "unhealthy "},
		"two of six":                          {running(nil), 6, 2, 11 * time.Minute, "unhealthy unhealthy "},
		"three of six":                        {running(nil), 6, 3, 11 * time.Minute, ""},
		"a DaemonSet's pod":                   {agent, 1, 1, time.Minute, "never-up "},
		"a pod that has never run, many such": {web(), 6, 3, time.Minute, "never-up never-up never-up "},
	} {
		var nodes []*Node
		for i := range c.nodes {
			n := up(fmt.Sprintf("n%d", i), provisioner(nil), c.pod)
			n.Initialized = false
			if i < c.unready {
				n.Ready, n.UnreadySince = false, noon.Add(-c.since)
			}
			nodes = append(nodes, n)
		}
		got := ""
		for _, f := range Forced(nodes, noon, Policy{StartupTimeout: 15 * time.Minute, UnhealthyAfter: 10 * time.Minute}) {
			got += string(f.Reason) + " "
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestEmptiness(t *testing.T) {
	empties := provisioner(func(s *api.ProvisionerSpec) { s.TTLSecondsAfterEmpty = seconds(30) })
	stamp := map[string]string{api.AnnotationEmptiness: noon.Add(-time.Second).Format(time.RFC3339)}
	for name, c := range map[string]struct {
		p           *api.Provisioner
		pods        []*cluster.Pod
		annotations map[string]string
		silent      bool
		want        time.Time
		change      bool
	}{
		"becomes empty":        {p: empties, want: noon, change: true},
		"has lost contact":     {p: empties, silent: true},
		"loses contact":        {p: empties, silent: true, annotations: stamp, change: true},
		"is empty already":     {p: empties, annotations: stamp, want: noon},
		"is used again":        {p: empties, annotations: stamp, pods: []*cluster.Pod{web()}, change: true},
		"is used":              {p: empties, pods: []*cluster.Pod{web()}},
		"the setting is gone":  {p: provisioner(nil), annotations: stamp, change: true},
		"a stamp that is none": {p: empties, annotations: map[string]string{api.AnnotationEmptiness: "yesterday"}, want: noon, change: true},
	} {
		n := up("n", c.p, c.pods...)
		n.Ready = !c.silent
		if c.annotations != nil {
			n.Annotations = c.annotations
		}
		if since, change := Emptiness(n, noon); change != c.change || change && !since.Equal(c.want) {
			t.Errorf("%s: got %v, %v", name, since, change)
		}
	}
}

// A StatefulSet's pod that stops has a successor of its name, and so has one to which another controller has given a
// claim; others', and one that does not stop for long, are not waited for.
func TestTerminatingStatefulPodKeepsItsNode(t *testing.T) { // DISR-025, DEPROV-013
	empties := provisioner(func(s *api.ProvisionerSpec) { s.TTLSecondsAfterEmpty = seconds(0) })
	for name, c := range map[string]struct {
		kind   string
		claims []cluster.ClaimRef
		ends   bool
		late   time.Duration
		want   bool
	}{
		"StatefulSet":                                   {kind: "StatefulSet", late: -time.Minute, want: true},
		"StatefulSet, a little late":                    {kind: "StatefulSet", late: time.Minute, want: true},
		"StatefulSet, late":                             {kind: "StatefulSet", late: stoppingPatience},
		"ReplicaSet":                                    {kind: "ReplicaSet", late: -time.Minute},
		"a pod that nobody will replace":                {late: -time.Minute},
		"StrimziPodSet":                                 {kind: "StrimziPodSet", claims: []cluster.ClaimRef{{Name: "data-kafka-0"}}, late: -time.Minute, want: true},
		"StrimziPodSet, late":                           {kind: "StrimziPodSet", claims: []cluster.ClaimRef{{Name: "data-kafka-0"}}, late: stoppingPatience},
		"another kind, without a claim":                 {kind: "StrimziPodSet", late: -time.Minute},
		"another kind, with a volume that goes with it": {kind: "StrimziPodSet", claims: []cluster.ClaimRef{{Name: "web-tmp", Ephemeral: true}}, late: -time.Minute},
		"a workflow with a claim":                       {kind: "Workflow", ends: true, claims: []cluster.ClaimRef{{Name: "work"}}, late: -time.Minute},
		"ReplicaSet with a claim":                       {kind: "ReplicaSet", claims: []cluster.ClaimRef{{Name: "data"}}, late: -time.Minute},
	} {
		p := web()
		p.Template.Claims, p.Template.Ends = c.claims, c.ends
		p.State, p.Owner.Kind, p.StopBy = cluster.PodTerminating, c.kind, noon.Add(-c.late)
		n := up("n", empties, p)
		n.At = noon
		if n.InUse() != c.want {
			t.Errorf("%s: in use: %t, want %t", name, !c.want, c.want)
		}
		if goes := len(Voluntary([]*Node{n}, noon)) > 0; goes == c.want {
			t.Errorf("%s: it goes: %t", name, goes)
		}
		if _, marked := Emptiness(n, noon); marked == c.want {
			t.Errorf("%s: it is marked as empty: %t", name, marked)
		}
	}
}

func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		budgets []api.Budget
		nodes   int
		used    bool
		leaving int
		want    int // how many may still go for expiry
	}{
		"ten percent, rounded up":         {nodes: 11, used: true, want: 2},
		"one node":                        {nodes: 1, used: true, want: 1},
		"those that go already count":     {nodes: 20, used: true, leaving: 1, want: 1},
		"nobody uses them":                {nodes: 5, want: 5},
		"nobody uses them, but it is set": {budgets: []api.Budget{{Nodes: "10%"}}, nodes: 20, want: 2},
		"a number":                        {budgets: []api.Budget{{Nodes: "3"}}, nodes: 5, used: true, want: 3},
		"a number holds empty nodes too":  {budgets: []api.Budget{{Nodes: "3"}}, nodes: 5, want: 3},
		"none":                            {budgets: []api.Budget{{Nodes: "0"}}, nodes: 5, want: 0},
		"the strictest counts":            {budgets: []api.Budget{{Nodes: "100%"}, {Nodes: "2"}}, nodes: 5, used: true, want: 2},
		"a budget for another reason":     {budgets: []api.Budget{{Nodes: "0", Reasons: []string{api.ReasonDrift}}}, nodes: 5, used: true, want: 5},
		"a budget that holds at noon":     {budgets: []api.Budget{{Nodes: "1", Schedule: ptr.To("0 12 * * *"), Duration: ptr.To(metav1.Duration{Duration: time.Hour})}}, nodes: 5, used: true, want: 1},
		"a budget that holds at night":    {budgets: []api.Budget{{Nodes: "1", Schedule: ptr.To("0 22 * * *"), Duration: ptr.To(metav1.Duration{Duration: 8 * time.Hour})}}, nodes: 5, used: true, want: 5},
		"what is no number holds them":    {budgets: []api.Budget{{Nodes: "some"}}, nodes: 5, used: true, want: 0},
		"what is no percentage, likewise": {budgets: []api.Budget{{Nodes: "x%"}}, nodes: 5, used: true, want: 0},
	} {
		p := provisioner(func(s *api.ProvisionerSpec) { s.Disruption = &api.Disruption{Budgets: c.budgets} }).Defaulted()
		var nodes []*Node
		for i := range c.nodes {
			n := up(fmt.Sprintf("n%d", i), p)
			if c.used {
				n.Pods = []*cluster.Pod{web()}
			}
			nodes = append(nodes, n)
		}
		b := NewBudgets(nodes, noon, func(n *Node) bool { return strings.TrimPrefix(n.Name, "n") < fmt.Sprint(c.leaving) })
		got := 0
		for _, n := range nodes[c.leaving:] {
			if b.Take(DueNode{Node: n, Reason: Expired}) {
				got++
			}
		}
		if got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// Nodes that are not ready are replaced, but not when too many are.
func TestUnhealthy(t *testing.T) {
	for name, c := range map[string]struct {
		nodes, unready int
		since          time.Duration
		want           int
	}{
		"one of many":            {nodes: 10, unready: 1, since: time.Hour, want: 1},
		"not for long enough":    {nodes: 10, unready: 1, since: time.Minute},
		"a fifth":                {nodes: 10, unready: 2, since: time.Hour, want: 2},
		"more than a fifth":      {nodes: 10, unready: 3, since: time.Hour},
		"the only one":           {nodes: 1, unready: 1, since: time.Hour, want: 1},
		"two of six, rounded up": {nodes: 6, unready: 2, since: time.Hour, want: 2},
		"three of six are a lot": {nodes: 6, unready: 3, since: time.Hour},
	} {
		var nodes []*Node
		for i := range c.nodes {
			n := up(fmt.Sprintf("n%d", i), provisioner(nil))
			if i < c.unready {
				n.Ready, n.UnreadySince = false, noon.Add(-c.since)
			}
			nodes = append(nodes, n)
		}
		if got := Forced(nodes, noon, Policy{UnhealthyAfter: 10 * time.Minute}); len(got) != c.want {
			t.Errorf("%s: %d nodes must go, want %d", name, len(got), c.want)
		}
	}
}

// Neither what is bought in the place of nodes that are not ready, nor their removal, makes them few.
func TestTooManyUnreadyDuringReplacement(t *testing.T) {
	for name, c := range map[string]struct {
		silence          time.Duration // an hour if 0
		deleting, bought int
		denied           bool          // the cloud does not terminate those that are going
		since            time.Duration // from the silence to the purchases
		want             int
	}{
		"nothing is bought":                {want: 0},
		"ten are bought afterwards":        {bought: 10, since: time.Minute, want: 0},
		"ten were bought before":           {bought: 10, since: -time.Minute, want: 3},
		"one of the silent ones is going":  {deleting: 1, want: 0},
		"but its machine stays":            {deleting: 1, denied: true, want: 2},
		"a day ago":                        {silence: 25 * time.Hour, bought: 10, since: time.Minute, want: 3},
		"a day ago, and nothing is bought": {silence: 25 * time.Hour, want: 0},
	} {
		silent := noon.Add(-cmp.Or(c.silence, time.Hour))
		var nodes []*Node
		for i := range 10 + c.bought {
			n := up(fmt.Sprintf("n%d", i), provisioner(nil))
			n.Created = silent.Add(-time.Hour)
			if i >= 10 {
				n.Created = silent.Add(c.since)
			}
			if i < 3 {
				n.Ready, n.UnreadySince, n.Deleting, n.Finalizers = false, silent, i < c.deleting, []string{api.Finalizer}
				n.Unterminated = n.Deleting && c.denied
			}
			nodes = append(nodes, n)
		}
		if got := Forced(nodes, noon, Policy{UnhealthyAfter: 10 * time.Minute}); len(got) != c.want {
			t.Errorf("%s: %d nodes must go, want %d", name, len(got), c.want)
		}
	}
}

// Consolidation removes empty nodes after consolidateAfter, unless that is Never or
// the node says otherwise.
func TestConsolidationRemovesEmptyNodes(t *testing.T) { // DISR-019
	on := func(after *string) func(*api.ProvisionerSpec) {
		return func(s *api.ProvisionerSpec) {
			s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)}
			s.Disruption = &api.Disruption{ConsolidateAfter: after}
		}
	}
	off := func(s *api.ProvisionerSpec) {
		on(ptr.To("0s"))(s)
		s.Consolidation.Enabled = ptr.To(false)
	}
	for name, c := range map[string]struct {
		provisioner func(*api.ProvisionerSpec)
		empty       time.Duration // for how long
		used, kept  bool
		marked      bool
		want        string
	}{
		"CONS-028: 30s by default": {provisioner: on(nil), empty: 30 * time.Second, marked: true, want: "no workload pods for 30s"},
		"CONS-028: not before":     {provisioner: on(nil), empty: 29 * time.Second, marked: true},
		"as it says":               {provisioner: on(ptr.To("5m")), empty: 5 * time.Minute, marked: true, want: "no workload pods for 5m"},
		"not before, either":       {provisioner: on(ptr.To("5m")), empty: time.Minute, marked: true},
		"at once":                  {provisioner: on(ptr.To("0s")), marked: true, want: "no workload pods for 0s"},
		"Never":                    {provisioner: on(ptr.To(api.Never)), empty: time.Hour},
		"off":                      {provisioner: off, empty: time.Hour},
		"in use":                   {provisioner: on(nil), empty: time.Hour, used: true},
		"the node is excluded":     {provisioner: on(nil), empty: time.Hour, kept: true, marked: true, want: "it has the annotation karpenter.sh/do-not-consolidate"},
	} {
		n := up("n", provisioner(c.provisioner))
		if _, marks := Emptiness(n, noon); marks != c.marked && !c.used {
			t.Errorf("%s: it gets an emptiness timestamp: %t", name, marks)
		}
		n.Annotations[api.AnnotationEmptiness] = noon.Add(-c.empty).Format(time.RFC3339)
		if c.used {
			n.Pods = []*cluster.Pod{web()}
		}
		if c.kept {
			n.Annotations[api.AnnotationDoNotConsolidate] = "true"
		}
		got := ""
		for _, f := range Voluntary([]*Node{n}, noon) {
			one := Case{DueNode: f, Now: noon, PDBs: NewPDBs(nil)}
			if got = f.Message; one.Protected() != "" {
				got = one.Protected()
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	expiring := provisioner(on(nil))
	expiring.Spec.TTLSecondsUntilExpired = seconds(60)
	n := up("n", expiring)
	n.Annotations[api.AnnotationDoNotConsolidate] = "true"
	if one := (&Case{DueNode: DueNode{Node: n, Reason: Expired}, Now: noon, PDBs: NewPDBs(nil)}); one.Protected() != "" {
		t.Errorf("an expired node stays: %s", one.Protected())
	}
}

// A reason that an edit has taken away does not hold any more.
func TestStillHolds(t *testing.T) {
	p := provisioner(func(s *api.ProvisionerSpec) { s.TTLSecondsUntilExpired = seconds(60) })
	n := up("n", p, web())
	if !StillHolds(n, api.ReasonExpiry, noon) || StillHolds(n, api.ReasonDrift, noon) {
		t.Error("the node is expired, and not drifted")
	}
	p.Spec.TTLSecondsUntilExpired = seconds(100_000)
	if StillHolds(n, api.ReasonExpiry, noon) {
		t.Error("the node is not expired any more")
	}
}

// What somebody else has written in the place of a hash says nothing, and without a
// hash nothing is known of the labels that the node was built with.
func TestForeignHashIsNoDrift(t *testing.T) {
	labelled := func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "a"} }
	changed := provisioner(labelled).Hash()
	classed := func(s *api.ProvisionerSpec) {
		s.Labels = map[string]string{api.LabelNodeClass: "a", api.LabelRegistered: "true"}
	}
	ours := provisioner(nil).Hash()
	zone := func(s *api.ProvisionerSpec) {
		s.Requirements = []api.Requirement{{Key: api.LabelZone, Operator: api.OpIn, Values: []string{"b"}}}
	}
	for name, c := range map[string]struct {
		provisioner func(*api.ProvisionerSpec)
		hash        string
		profile     string
		class       string // that the node is labelled with
		want        string
	}{
		"bought before nodes had the label of their class": {provisioner: classed, hash: ours},
		"of that class":                    {provisioner: classed, hash: ours, class: "a"},
		"of another class":                 {provisioner: classed, hash: ours, class: "b", want: "provisioner default now requires karpenter.k8s.aws/ec2nodeclass In [a], the node has b"},
		"Karpenter's hash":                 {hash: "13598472034582093845"},
		"Karpenter's, with sixteen digits": {hash: "1359847203458209"},
		"a word":                           {hash: "edited-by-hand"},
		"of the node profile":              {profile: "13598472034582093845"},
		"a label was added, no hash":       {provisioner: labelled},
		"a label was added, foreign hash":  {provisioner: labelled, hash: "13598472034582093845"},
		"ours, and it has changed":         {hash: changed, want: "provisioner default has changed since the node was launched"},
		"ours of the profile":              {profile: changed, want: "its node profile has changed since the node was launched"},
		"by value in spite of it":          {provisioner: zone, hash: "1", want: "provisioner default now requires topology.kubernetes.io/zone In [b], the node has no value"},
	} {
		n := up("n", provisioner(c.provisioner))
		n.Annotations[api.AnnotationProvisionerHash], n.Annotations[api.AnnotationProfileHash] = c.hash, c.profile
		n.ProfileHash = (&api.NodeProfile{}).Hash()
		if c.class != "" {
			n.Labels[api.LabelNodeClass] = c.class
		}
		got := ""
		for _, f := range Voluntary([]*Node{n}, noon) {
			got = f.Message
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A machine whose image, subnet or security groups the node profile does not find
// any more has drifted, and one whose image a new machine of its type would not get.
func TestDriftByValue(t *testing.T) { // DEPROV-068
	built := func(n *Node) {
		n.Labels[api.LabelInstanceAMIID] = "ami-1"
		n.Annotations[api.AnnotationSubnet], n.Annotations[api.AnnotationSecurityGroups] = "subnet-1", "sg-1,sg-2"
	}
	profile := api.AWSNodeTemplateStatus{
		AMIs:           []api.AMIStatus{{ID: "ami-1"}, {ID: "ami-2"}},
		Subnets:        []api.SubnetStatus{{ID: "subnet-1"}, {ID: "subnet-2"}},
		SecurityGroups: []api.SecurityGroupStatus{{ID: "sg-2"}, {ID: "sg-1"}},
	}
	for name, c := range map[string]struct {
		change func(*api.AWSNodeTemplateStatus)
		image  string // of new machines of its type
		want   string
	}{
		"as it was":                  {change: func(*api.AWSNodeTemplateStatus) {}, image: "ami-1"},
		"its type is not on sale":    {change: func(*api.AWSNodeTemplateStatus) {}},
		"a newer image for its type": {change: func(*api.AWSNodeTemplateStatus) {}, image: "ami-2", want: "new machines get image ami-2, the machine has ami-1"},
		"another image":              {change: func(s *api.AWSNodeTemplateStatus) { s.AMIs = s.AMIs[1:] }, want: "image ami-1 is no longer selected"},
		"another subnet":             {change: func(s *api.AWSNodeTemplateStatus) { s.Subnets = s.Subnets[1:] }, want: "subnet subnet-1 is no longer selected"},
		"another group":              {change: func(s *api.AWSNodeTemplateStatus) { s.SecurityGroups = s.SecurityGroups[1:] }, want: "the security groups selected are sg-1, the machine has sg-1,sg-2"},
		"nothing is known now":       {change: func(s *api.AWSNodeTemplateStatus) { *s = api.AWSNodeTemplateStatus{} }},
	} {
		n := up("n", provisioner(nil), web())
		built(n)
		n.Profile, n.Image = profile, c.image
		c.change(&n.Profile)
		got := ""
		for _, f := range Voluntary([]*Node{n}, noon) {
			got = f.Message
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
