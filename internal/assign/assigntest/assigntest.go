// Package assigntest makes problems for the tests of the packages that solve them.
package assigntest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// PodsOf is a number of pods of so many millicores each.
type PodsOf struct {
	N        int
	CPU      int64
	Priority int32
}

// LimitedTo is a problem with types of 2, 4 and 8 cores in two zones, of which no more
// than so many cores may be had; 0 is no limit.
func LimitedTo(cores int64, groups ...PodsOf) *assign.Problem {
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}}
	for _, g := range groups {
		t := &cluster.Template{Namespace: "default", Priority: g.Priority, Requests: amount.List{amount.CPU: g.CPU, amount.Pods: 1}}
		for range g.N {
			name := fmt.Sprintf("pod-%04d", len(p.Pods))
			p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: name}, Template: t}})
		}
	}
	var types []offer.InstanceType
	for _, size := range []int64{2, 4, 8} {
		t := offer.InstanceType{Name: fmt.Sprint("size-", size), Capacity: amount.List{amount.CPU: size * 1000, amount.Memory: 1, amount.Pods: 10 * size}}
		for _, zone := range []string{"one", "two"} {
			t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(1000*size + 100)})
		}
		types = append(types, t)
	}
	spec := &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if cores > 0 {
		spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI)}}
	}
	p.Provisioners = []assign.Provisioner{{Spec: spec, Types: types}}
	return p
}
