package agent

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// The status and the metrics say what nodes cost now, as the lower bound does, whatever they cost when they were bought.
func TestPricesOfNodesAreCurrent(t *testing.T) {
	for name, c := range map[string]struct {
		sold   offer.Price
		bought string
		want   float64
	}{
		"the price has risen":              {300_000, "200000", 0.3},
		"the price was not known at first": {300_000, "", 0.3},
		"the price is not known any more":  {0, "200000", 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			p := &view.Provisioner{Raw: &api.Provisioner{}, Spec: &api.Provisioner{}}
			p.Raw.Name, p.Spec.Name = "default", "default"
			p.Market.Types = []offer.InstanceType{{Name: "m", Offerings: []offer.Offering{{Zone: "a", CapacityType: "on-demand", Price: c.sold}}}}
			node := cluster.Node{Name: "n", Provisioner: "default", Annotations: map[string]string{api.AnnotationHourlyPrice: c.bought},
				Labels: map[string]string{api.LabelInstanceType: "m", api.LabelZone: "a", api.LabelCapacityType: "on-demand"}}
			v := &view.View{Snapshot: &cluster.Snapshot{Nodes: []cluster.Node{node}}, Provisioners: []*view.Provisioner{p}}
			s := (&statusSnapshot{view: v}).status()
			if s.HourlyPrice != c.want || s.Provisioners[0].HourlyPrice != c.want || s.Nodes[0].HourlyPrice != c.want {
				t.Errorf("the cluster costs %v, its Provisioner %v, its node %v, want %v", s.HourlyPrice, s.Provisioners[0].HourlyPrice, s.Nodes[0].HourlyPrice, c.want)
			}
			m := metrics.New()
			export(m, v, &decide.Plan{})
			if got := gauge(t, m, "hourly_price_dollars"); got != c.want {
				t.Errorf("the gauge is %v, want %v", got, c.want)
			}
		})
	}
}
