package pack

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestManyPreferencesAreBounded has a pod with a thousand preferences that exclude each
// other beside one that prefers little: both are placed, and the most important one that
// can be had is met.
func TestManyPreferencesAreBounded(t *testing.T) {
	zone := func(i int) string { return fmt.Sprint("zone-", i) }
	terms := make([]corev1.PreferredSchedulingTerm, 1000)
	for i := range terms {
		terms[i] = corev1.PreferredSchedulingTerm{Weight: int32(1 + i/10), Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: api.LabelZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone(i)}}},
		}}
	}
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	for i := 960; i < 970; i++ {
		small.Offerings = append(small.Offerings, offer.Offering{Zone: zone(i), CapacityType: api.CapacityOnDemand, Price: 1000})
	}
	template := &cluster.Template{
		Namespace: "default", Requests: amount.List{amount.CPU: 100, amount.Pods: 1},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms}},
	}
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}, Provisioners: []assign.Provisioner{{Spec: spec, Types: []offer.InstanceType{small}}}}
	p.Pods = []assign.Demand{{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "picky"}, Template: template}}}

	begin := time.Now()
	l := Solve(p)
	if spent := time.Since(begin); spent > 5*time.Second {
		t.Errorf("took %v", spent)
	}
	if len(l.Machines) != 1 || l.Machines[0].Candidates[0].Zone != zone(969) {
		t.Fatalf("got %+v, want a machine in %s", l.Machines, zone(969))
	}
	if given := len(l.Places[0].GivenUp); given != len(terms)-1 {
		t.Errorf("%d preferences given up, want all of %d but one", given, len(terms))
	}
}

// TestPreferencesThatTakeTooMuchWorkKeepNoPodPending: pods that prefer to be spread over hundreds of instance types get their
// places without that, also if the plan is made once more, and if room is kept for some of them.
func TestPreferencesThatTakeTooMuchWorkKeepNoPodPending(t *testing.T) {
	labels := map[string]string{"app": "web"}
	spread := func(key string, otherwise corev1.UnsatisfiableConstraintAction) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: otherwise, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
	}
	for name, change := range map[string]func(p *assign.Problem, t *cluster.Template){
		"one pass": func(*assign.Problem, *cluster.Template) {},
		"a limit of others makes the plan be made once more": func(p *assign.Problem, _ *cluster.Template) {
			small := assign.Provisioner{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "small"}}, Types: p.Provisioners[0].Types[:1:1]}
			small.Spec.Spec.Labels = map[string]string{"team": "small"}
			small.Spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
			p.Provisioners = append(p.Provisioners, small)
			other := &cluster.Template{Namespace: "default", NodeSelector: map[string]string{"team": "small"}, Requests: amount.List{amount.CPU: 100, amount.Pods: 1}}
			p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: "small"}, Template: other}})
		},
		"room is kept for some": func(p *assign.Problem, _ *cluster.Template) {
			for i := range p.Pods[:20] {
				p.Pods[i].Nodes = []string{"gone"}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const types, pods = 600, 60
			p := &assign.Problem{Snapshot: &cluster.Snapshot{}, Provisioners: []assign.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}}
			for i := range types {
				name := fmt.Sprintf("type-%03d", i)
				of := offer.InstanceType{Name: name, Labels: map[string][]string{api.LabelInstanceType: {name}}, Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
				for _, zone := range []string{"a", "b", "c", "d", "e", "f"} {
					of.Offerings = append(of.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(1000 + i)})
				}
				p.Provisioners[0].Types = append(p.Provisioners[0].Types, of)
			}
			web := &cluster.Template{
				Namespace: "default", Labels: labels, Requests: amount.List{amount.CPU: 2000, amount.Pods: 1},
				Spread: []corev1.TopologySpreadConstraint{spread(api.LabelZone, corev1.DoNotSchedule), spread(api.LabelInstanceType, corev1.ScheduleAnyway)},
			}
			for i := range pods {
				p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("web-%02d", i)}, Template: web}})
			}
			change(p, web)
			given := 0
			for i, place := range Solve(p).Places[:pods] {
				if !place.Placed() {
					t.Fatalf("pod %d has no place: %s", i, place.Reason)
				}
				given += len(place.GivenUp)
			}
			if given == 0 {
				t.Error("no pod has given up its preference: they do not take too much work")
			}
		})
	}
}
