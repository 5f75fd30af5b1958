package pack

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestReasonsAmongManyProvisioners: if each team has its own Provisioner, a pod learns what its own one lacks, and the
// pods that only a limit keeps waiting do not count as those that take too much work.
func TestReasonsAmongManyProvisioners(t *testing.T) {
	var types []offer.InstanceType
	for i := range 1000 {
		types = append(types, offer.InstanceType{
			Name: fmt.Sprintf("type-%04d", i), Capacity: amount.List{amount.CPU: 2000 + int64(i), amount.Memory: 8 << 30, amount.Pods: 110},
			Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: offer.Price(1000 + i)}},
		})
	}
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}}
	for i := range 60 {
		team := fmt.Sprintf("team-%02d", i)
		spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: team}}
		spec.Spec.Labels = map[string]string{"team": team}
		spec.Spec.Taints = []corev1.Taint{{Key: "team", Value: team, Effect: corev1.TaintEffectNoSchedule}}
		spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
		p.Provisioners = append(p.Provisioners, assign.Provisioner{Spec: spec, Types: types})
		template := &cluster.Template{
			Namespace: "default", Requests: amount.List{amount.CPU: 100, amount.Pods: 1}, NodeSelector: map[string]string{"team": team},
			Tolerations: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: team}},
		}
		p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: team}, Template: template}})
	}
	for i, place := range Solve(p).Places {
		if want := p.Pods[i].Pod.Name + " would exceed its limit of 1 CPU"; !strings.Contains(place.Reason, want) || place.Exhausted {
			t.Errorf("pod of %s: %q, exhausted %t; want %q", p.Pods[i].Pod.Name, place.Reason, place.Exhausted, want)
		}
	}
}
