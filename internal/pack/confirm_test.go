package pack

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// crossed is a problem with pods of three apps in several sizes, each spread over
// zones by the pods of one of the apps, which need not be its own, and with others of
// these apps that are not spread.
func crossed() *assign.Problem {
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}}
	apps := []string{"a", "b", "c"}
	for i := range 180 {
		t := &cluster.Template{
			Namespace: "default", Labels: map[string]string{"app": apps[i%3]},
			Requests: amount.List{amount.CPU: 100 * int64(1+i%5), amount.Pods: 1},
		}
		if counted := i / 3 % 4; counted < 3 {
			t.Spread = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: api.LabelZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": apps[counted]}},
			}}
		}
		pod := &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprint("pod-", i)}, Template: t}
		p.Pods = append(p.Pods, assign.Demand{Pod: pod})
	}
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	for _, zone := range []string{"one", "three", "two"} {
		small.Offerings = append(small.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: 1000})
	}
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p.Provisioners = []assign.Provisioner{{Spec: spec, Types: []offer.InstanceType{small}}}
	return p
}

// TestConfirmed has a plan that was made in an order in which the scheduler takes the
// pods: it need not be replayed, and a replay, which has to find an order itself,
// refuses nothing.
func TestConfirmed(t *testing.T) {
	s := newPlanning(crossed()).newSolver()
	s.rounds(s.Classes(), nil)
	if left := s.unplaced(); left > 0 {
		t.Fatalf("%d pods have no place", left)
	}
	if len(s.confirming().doubted()) > 0 {
		t.Error("the plan is to be replayed")
	}
	if _, refused := s.confirming().replayAll(); refused {
		t.Error("the replay refuses pods")
	}
}

// TestNotInTurn has what makes a plan's own order worth nothing.
func TestNotInTurn(t *testing.T) {
	for name, spoil := range map[string]func(s *solver){
		"a group that was not bought": func(s *solver) { s.Classes()[0].TookBack = true },
		"a zone that nobody knew of": func(s *solver) {
			moved := *s.Offerings[s.Machines()[0].Offering].Offer
			moved.Zone = "four"
			s.Offerings[s.Machines()[0].Offering].Offer = &moved
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newPlanning(crossed()).newSolver()
			s.rounds(s.Classes(), nil)
			spoil(s)
			if len(s.confirming().doubted()) == 0 {
				t.Error("the plan is not to be replayed")
			}
		})
	}
}

// TestNodesThatCountByTheirLabels: which nodes a spread counts is known once they are there.
func TestNodesThatCountByTheirLabels(t *testing.T) {
	p := crossed()
	for i := range p.Pods {
		p.Pods[i].Pod.Template.NodeSelector = map[string]string{api.LabelCapacityType: api.CapacityOnDemand}
	}
	s := newPlanning(p).newSolver()
	s.rounds(s.Classes(), nil)
	if len(s.confirming().doubted()) == 0 {
		t.Error("the plan is not to be replayed")
	}
}

// TestComponentsAreConfirmedApart: pods that must come together are replayed, and
// others, with whose constraints they have nothing to do, are not.
func TestComponentsAreConfirmedApart(t *testing.T) {
	p := crossed()
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "follower"}}
	follower := &cluster.Template{
		Namespace: "default", Labels: own.MatchLabels, Requests: amount.List{amount.CPU: 100, amount.Pods: 1},
		Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: api.LabelHostname, LabelSelector: own}},
		}},
	}
	p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "zz"}, Template: follower}})
	s := newPlanning(p).newSolver()
	s.rounds(s.Classes(), nil)
	d := s.confirming().doubted()
	for _, c := range s.Classes() {
		if alone := c.Template == follower; d[c] != alone {
			t.Errorf("a class of %v is replayed: %v", c.Template.Labels, d[c])
		}
	}
}

// TestSpreadBesideADaemonSetThatIsKeptOff: on a node that a DaemonSet's pod cannot come to
// there is none of it, so that a spread that counts it cannot go further elsewhere.
func TestSpreadBesideADaemonSetThatIsKeptOff(t *testing.T) {
	app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}}
	template := func(change func(*cluster.Template)) *cluster.Template {
		t := &cluster.Template{Namespace: "default", Labels: app.MatchLabels, Requests: amount.List{amount.Pods: 1}}
		change(t)
		return t
	}
	spread := template(func(t *cluster.Template) {
		t.Spread = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: api.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: app}}
	})
	guard := template(func(t *cluster.Template) {
		t.Labels = nil
		t.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: api.LabelHostname, LabelSelector: app}},
		}}
	})
	for name, c := range map[string]struct {
		there *cluster.Template
		want  bool
	}{
		"kept off": {guard, false},
		"there":    {template(func(t *cluster.Template) { t.Labels = nil }), true},
	} {
		p := crossed()
		p.Pods = []assign.Demand{{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "pod"}, Template: spread}}}
		p.Snapshot.Nodes = []cluster.Node{{
			Name: "node", Ready: true, Unschedulable: true, Labels: map[string]string{api.LabelHostname: "node"}, Allocatable: amount.List{amount.Pods: 10},
		}}
		p.Snapshot.Pods = []cluster.Pod{{PodKey: cluster.PodKey{Namespace: "default", Name: "there"}, Template: c.there, NodeName: "node", State: cluster.PodBound}}
		p.Snapshot.DaemonSets = []cluster.DaemonSet{{Name: "agent", Namespace: "default", Template: template(func(t *cluster.Template) {
			t.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}} // as each has
		})}}
		if got := Solve(p).Places[0]; got.Placed() != c.want {
			t.Errorf("%s: the pod has a place: %v, want %v (%s)", name, got.Placed(), c.want, got.Reason)
		}
	}
}
