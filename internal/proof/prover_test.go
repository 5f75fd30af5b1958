package proof

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestLowerBound: what is proven of an assignment is what its pods cost at least, whatever has
// been bought for them, and nothing where nothing has been bought.
func TestLowerBound(t *testing.T) {
	for name, of := range map[string]struct {
		pods, onEach int
		want         offer.Price
	}{
		"full machines":        {8, 4, 2000},
		"twice as many as due": {8, 2, 2000},
		"none":                 {0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			four := offer.InstanceType{
				Name: "four", Capacity: amount.List{amount.CPU: 4000, amount.Memory: 1, amount.Pods: 10},
				Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: 1000}},
			}
			p := &assign.Problem{
				Snapshot:     &cluster.Snapshot{},
				Provisioners: []assign.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Types: []offer.InstanceType{four}}},
			}
			template := &cluster.Template{Namespace: "default", Requests: amount.List{amount.CPU: 1000, amount.Pods: 1}}
			for i := range of.pods {
				p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprint("pod-", i)}, Template: template}})
			}
			a := assign.Prepare(p, make(assign.Limits, 1), model.NewEffort(p.Pods, 0)).New()
			for _, c := range a.Classes() {
				o, _ := a.OptionsAt(c, assign.Level{})
				g, _ := a.GroupFor(c, assign.Level{}, o)
				for g.N = c.Left; g.N > 0; {
					m := a.NewMachine(0)
					n, residual := a.Admit(m, g, int64(of.onEach))
					m.Add(g, n, residual)
					a.Buy(m)
				}
			}
			if got := (Prover{Assignment: a}).LowerBound(); got != of.want {
				t.Errorf("%d is proven, want %d", got, of.want)
			}
		})
	}
}
