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

// spreadPods are pods of which a machine holds two.
func spreadPods(app string, skew map[string]int32) *cluster.Template {
	t := &cluster.Template{
		Namespace: "default", Labels: map[string]string{"app": app},
		Requests: amount.List{amount.CPU: 1900, amount.Memory: 1 << 30, amount.Pods: 1},
	}
	for key, most := range skew {
		t.Spread = append(t.Spread, corev1.TopologySpreadConstraint{
			MaxSkew: most, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: t.Labels},
		})
	}
	return t
}

// TestPodsThatAreSpreadGather: spreads decide how many pods each domain of their own keys has.
// Which combinations of domains have pods, and how far the spreads go, is for the price.
func TestPodsThatAreSpreadGather(t *testing.T) {
	both := func(capacityType, zone int32) map[string]int32 {
		return map[string]int32{api.LabelCapacityType: capacityType, api.LabelZone: zone}
	}
	for name, c := range map[string]struct {
		spread  map[string]int32
		pods    int
		others  int // pods that only an uneven spread over zones restricts
		running int // pods that run on an on-demand node in the zone a
		most    int64
	}{
		// Two on-demand machines and four spot machines.
		"a spread may be uneven": {spread: both(3, 1), pods: 11, most: 2*154 + 4*49},
		// Five pods are on demand, and have three machines.
		"both are even":            {spread: both(1, 1), pods: 11, most: 3*154 + 3*49},
		"few pods":                 {spread: both(1, 1), pods: 6, most: 2*154 + 3*49},
		"pods of another class":    {spread: both(3, 1), pods: 11, others: 5, most: 2*154 + 6*49},
		"pods that run already":    {spread: both(3, 1), pods: 9, running: 2, most: 154 + 4*49},
		"one spread may be uneven": {spread: map[string]int32{api.LabelCapacityType: 3}, pods: 11, most: 2*154 + 4*49},
	} {
		t.Run(name, func(t *testing.T) {
			std := offer.InstanceType{Name: "std", Capacity: amount.List{amount.CPU: 4000, amount.Memory: 16 << 30, amount.Pods: 100}}
			for _, zone := range []string{"a", "b", "c", "d", "e"} {
				std.Offerings = append(std.Offerings,
					offer.Offering{Zone: zone, CapacityType: api.CapacitySpot, Price: 49}, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: 154})
			}
			p := &assign.Problem{Snapshot: &cluster.Snapshot{}, Provisioners: []assign.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Types: []offer.InstanceType{std}}}}
			add := func(t *cluster.Template, n int) {
				for range n {
					p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%05d", len(p.Pods))}, Template: t}})
				}
			}
			of := spreadPods("api", c.spread)
			add(of, c.pods)
			add(spreadPods("web", map[string]int32{api.LabelZone: 2}), c.others)
			if c.running > 0 {
				p.Snapshot.Nodes = []cluster.Node{{
					Name: "n", Provisioner: "default", Initialized: true, Ready: true, Allocatable: amount.List{amount.CPU: 4000, amount.Memory: 16 << 30, amount.Pods: 100}, Capacity: std.Capacity,
					Labels: map[string]string{api.LabelZone: "a", api.LabelCapacityType: api.CapacityOnDemand, corev1.LabelHostname: "n"},
				}}
				for i := range c.running {
					p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprint("running-", i)}, NodeName: "n", State: cluster.PodBound, Template: of})
				}
			}
			if cost := spend(t, p); cost > c.most {
				t.Errorf("the plan costs %d, want at most %d", cost, c.most)
			}
		})
	}
}
