package pack

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
