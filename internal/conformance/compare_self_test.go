package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// plainScenario has two pods that need a machine each.
func plainScenario() *scenario {
	p := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Spec.Requirements = []api.Requirement{{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m5.large"}}}
	s := &scenario{Provisioners: []*api.Provisioner{p}}
	for _, name := range []string{"one", "two"} {
		s.Pods = append(s.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "alpha", Name: name},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none", Resources: requestCPU("1200m")}}},
		})
	}
	return s
}

// spreadOverLimit spreads the pods over capacity types, one of which is over its
// limit: only one pod has a place.
func spreadOverLimit(s *scenario) {
	spot := s.Provisioners[0].DeepCopy()
	spot.Name = "spot"
	spot.Spec.Requirements = append(spot.Spec.Requirements, api.Requirement{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacitySpot}})
	spot.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	s.Provisioners = append(s.Provisioners, spot)
	for _, p := range s.Pods {
		p.Labels = map[string]string{"app": "a"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: api.LabelCapacityType, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, NodeTaintsPolicy: ptr.To(corev1.NodeInclusionPolicyHonor),
		}}
	}
}

// twoNodesInUse has the pods run, each on a node of its own.
func twoNodesInUse(s *scenario) {
	large := catalogue["m5.large"]
	own := map[string]string{api.LabelProvisioner: "default", api.LabelInitialized: "true"}
	for i, p := range s.Pods {
		p.Name += "-0"
		name := fmt.Sprintf("node-%d", i)
		s.Nodes = append(s.Nodes, nodeOf(name, &large, offer.Candidate{InstanceType: large.Name, Zone: zones[0], CapacityType: api.CapacityOnDemand}, own, nil))
		s.Running = append(s.Running, runningOn(p, name))
	}
	s.Pods = nil
}

func requestCPU(amount string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}
}

// greedyDaemonSet takes more than a whole m5.large.
func greedyDaemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"daemon": "greedy"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "beta", Name: "greedy"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none", Resources: requestCPU("1940m")}}},
			},
		},
	}
}

// TestWrongPlansAreFound shows that the comparison notices each kind of mistake.
func TestWrongPlansAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*scenario)
		planner planner
		want    []string
	}{
		"a right plan": {planner: decide.Decide},
		"two pods where one fits": {
			planner: func(in decide.Input) decide.Plan {
				p := decide.Decide(in)
				p.Machines[0].Pods = append(p.Machines[0].Pods, p.Machines[1].Pods...)
				p.Machines = p.Machines[:1]
				return p
			},
			want: []string{refused},
		},
		"a pod that fits is left out": {
			planner: func(in decide.Input) decide.Plan {
				p := decide.Decide(in)
				p.Unplaced = []decide.Unplaced{{Pod: p.Machines[1].Pods[0], Reason: "a mistake"}}
				p.Machines = p.Machines[:1]
				return p
			},
			want: []string{accepted},
		},
		"no room is kept for a DaemonSet": {
			change: func(s *scenario) { s.Pods, s.DaemonSets = s.Pods[:1], []*appsv1.DaemonSet{greedyDaemonSet()} },
			planner: func(in decide.Input) decide.Plan {
				snapshot := *in.Snapshot
				snapshot.DaemonSets = nil
				in.Snapshot = &snapshot
				return decide.Decide(in)
			},
			want: []string{crowded},
		},
		"a node goes and its pod has no place": {
			change: twoNodesInUse,
			planner: func(decide.Input) decide.Plan {
				return decide.Plan{Removals: []decide.Removal{{Node: "node-0", Reason: decide.Consolidated}}}
			},
			want: []string{lost},
		},
		"a node goes and its pod moves to a full one": {
			change: twoNodesInUse,
			planner: func(decide.Input) decide.Plan {
				return decide.Plan{
					Removals: []decide.Removal{{Node: "node-0", Reason: decide.Consolidated}},
					Bindings: []decide.Binding{{Pod: cluster.PodKey{Namespace: "alpha", Name: "one-0"}, From: "node-0", Node: "node-1"}},
				}
			},
			want: []string{refused},
		},
		"a domain that is over its limit, where taints decide what counts": {change: spreadOverLimit, planner: decide.Decide},
	} {
		t.Run(name, func(t *testing.T) {
			s := plainScenario()
			if c.change != nil {
				c.change(s)
			}
			out, err := shared.compare(t.Context(), s, c.planner, randomOf(1))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range out.disagreements {
				got = append(got, d.kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s%v", diff, out.disagreements)
			}
		})
	}
}

// TestWhatIsOverALimitIsADomainOnly keeps nodes that are over a limit free of taints:
// a cordon's would take them out of the domains that a spread counts.
func TestWhatIsOverALimitIsADomainOnly(t *testing.T) {
	s := plainScenario()
	spreadOverLimit(s)
	in, err := s.input()
	if err != nil {
		t.Fatal(err)
	}
	sale, err := onSale(&in, &decide.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	closed := map[string]bool{}
	for _, n := range sale {
		if n.Spec.Unschedulable || len(n.Spec.Taints) > 0 {
			t.Errorf("%s is cordoned or tainted: %v", n.Name, n.Spec)
		}
		if q, ok := n.Status.Allocatable[admission]; ok && q.IsZero() {
			closed[n.Labels[api.LabelProvisioner]] = true
		}
	}
	if diff := cmp.Diff(map[string]bool{"spot": true}, closed); diff != "" {
		t.Errorf("provisioners whose nodes admit nobody: -want +got\n%s", diff)
	}
}

func TestReduce(t *testing.T) {
	s := generate(randomOf(7))
	s.Pods = append(s.Pods, plainScenario().Pods...)
	smallest := reduce(s, func(c *scenario) bool {
		return slices.ContainsFunc(c.Pods, func(p *corev1.Pod) bool { return p.Name == "two" && len(p.Spec.Containers) > 0 })
	})
	want := &scenario{Pods: []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "alpha", Name: "two"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{}}},
	}}}
	if diff := cmp.Diff(want, smallest, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTheSameSeedGivesTheSameScenario(t *testing.T) {
	clean := func(s *scenario) *scenario {
		for _, n := range s.Nodes {
			for i := range n.Status.Conditions {
				n.Status.Conditions[i].LastHeartbeatTime, n.Status.Conditions[i].LastTransitionTime = metav1.Time{}, metav1.Time{}
			}
			if n.DeletionTimestamp != nil {
				n.DeletionTimestamp = &metav1.Time{}
			}
		}
		return s
	}
	for seed := range uint64(20) {
		if diff := cmp.Diff(clean(draw(seed)), clean(draw(seed))); diff != "" {
			t.Fatalf("seed %d: -first +second\n%s", seed, diff)
		}
	}
}

// TestEverythingIsGenerated finds each kind of thing that scenarios are to have
// among a few hundred.
func TestEverythingIsGenerated(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(400) {
		note(draw(seed), seen)
	}
	for _, want := range []string{
		"two provisioners", "limits", "max pods", "taints", "startup taints", "capacity types", "weights", "min values", "cordoned node", "starting node",
		"foreign node", "node without zone", "leaving node", "node in use", "running pod", "daemon set", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "matchFields",
		"zone spread", "hostname spread", "min domains", "node taints policy", "node affinity policy", "affinity", "anti-affinity",
		"host port", "host IP", "init container", "sidecar", "pod-level resources", "GPU", "ephemeral storage", "priority", "toleration",
		"limits that bind nothing", "memory limits", "selector on family", "selector on category", "selector on size",
		"volume", "volume in a zone", "volume of one pod", "two volumes", "many pods with alternatives",
		"requirement NotIn", "requirement Gt", "requirement Lt", "requirement Exists", "requirement DoesNotExist", "two daemon sets",
		"daemon set with anti-affinity", "several affinities", "several anti-affinities", "affinity over " + labelTier, "affinity over " + labelNone,
		"anti-affinity over " + labelNone, "anti-affinity over " + api.LabelInstanceType,
	} {
		if !seen[want] {
			t.Errorf("no scenario has %s", want)
		}
	}
}

// TestOrderIsFound has two pods that their spread lets in before all others only.
func TestOrderIsFound(t *testing.T) {
	ctx := t.Context()
	if err := shared.clear(ctx); err != nil {
		t.Fatal(err)
	}
	large := catalogue["m5.large"]
	node := nodeOf("node-0", &large, offer.Candidate{InstanceType: large.Name, Zone: zones[0], CapacityType: api.CapacityOnDemand}, nil, nil)
	if err := shared.addNodes(ctx, []*corev1.Node{node}); err != nil {
		t.Fatal(err)
	}
	var pods []*corev1.Pod
	home := map[string]string{}
	for i := range 8 {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "alpha", Name: fmt.Sprint("pod-", i), Labels: map[string]string{"app": "a"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}}},
		}
		spread := corev1.TopologySpreadConstraint{
			MaxSkew: 8, TopologyKey: api.LabelZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}
		if i >= 6 {
			spread.MaxSkew, spread.MinDomains = 2, ptr.To[int32](2) // one pod of all others at most is there
		}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread}
		pods, home[keyOf(p)] = append(pods, p), node.Name
	}
	refused, err := shared.placeAll(ctx, pods, home, randomOf(1))
	if err != nil || len(refused) > 0 {
		t.Errorf("refused %v, error %v", refused, err)
	}
}
