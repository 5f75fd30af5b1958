package place

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// TestWaterFill checks that filling domains like water ends as placing them one by one does.
func TestWaterFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "domains")
		counts := rapid.SliceOfN(rapid.Int64Range(0, 6), n+1, n+1).Draw(t, "counts")
		prices := rapid.SliceOfN(rapid.Int64Range(1, 3), n, n).Draw(t, "prices")
		outside := rapid.Bool().Draw(t, "outside") // a domain where nothing can be bought
		skew, least := rapid.Int32Range(1, 3).Draw(t, "maxSkew"), rapid.IntRange(1, 7).Draw(t, "minDomains")
		repelled := rapid.IntRange(-1, n-1).Draw(t, "repelled")
		pods := rapid.IntRange(1, 30).Draw(t, "pods")
		begin := func() (*Placer, *assign.Class, []domainChoice) {
			in := spreading(pods, skew, int32(least))
			for i := range n + 1 {
				zone := fmt.Sprint("zone-", i)
				if i < n {
					in.Provisioners[0].Types[0].Offerings = append(in.Provisioners[0].Types[0].Offerings,
						offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(prices[i])})
				} else if !outside {
					break
				}
				occupy(in, zone, counts[i], i == repelled)
			}
			pl := &Placer{Assignment: assign.New(in, make(assign.Limits, 1), model.NewEffort(in.Pods, 0))}
			c := pl.Classes()[0]
			o, _ := pl.OptionsAt(c, assign.Level{})
			return pl, c, pl.domainChoices(c, o, assign.Level{})
		}
		groups := func(choices []domainChoice) []int64 {
			out := make([]int64, n)
			for i, at := range choices {
				out[i] = at.group.N
			}
			return out
		}

		pl, c, singly := begin()
		for c.Open() > 0 {
			best := pl.bestDomain(c, singly, 0)
			if best < 0 {
				break
			}
			singly[best].group.N++
			c.Booked++
			pl.State.Enter(c.Rules, &singly[best].DomainAssignment, nil, 1)
		}
		pl, c, filled := begin()
		pl.waterFill(c, filled, 0)
		if got, want := groups(filled), groups(singly); !slices.Equal(got, want) {
			t.Fatalf("filled %v, one by one %v", got, want)
		}
		if pl.bestDomain(c, filled, 0) >= 0 && c.Open() > 0 {
			t.Fatalf("%d pods are left that would fit", c.Open())
		}
	})
}

// spreading is a problem with so many pods that are spread over zones.
func spreading(pods int, skew, least int32) *assign.Problem {
	own := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}}
	t := &cluster.Template{
		Namespace: "default", Labels: own.MatchLabels, Requests: amount.List{amount.CPU: 1, amount.Pods: 1},
		Spread: []corev1.TopologySpreadConstraint{{
			MaxSkew: skew, MinDomains: &least, TopologyKey: api.LabelZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: own,
		}},
	}
	small := offer.InstanceType{Name: "small", Capacity: amount.List{amount.CPU: 2000, amount.Memory: 1, amount.Pods: 10}}
	p := &assign.Problem{
		Snapshot:     &cluster.Snapshot{},
		Provisioners: []assign.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Types: []offer.InstanceType{small}}},
	}
	for i := range pods {
		p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprint("pod-", i)}, Template: t}})
	}
	return p
}

// occupy adds a node that takes no pods to a zone, with so many pods that the spread counts,
// and one that keeps others away from the zone if it is to.
func occupy(p *assign.Problem, zone string, pods int64, repels bool) {
	of := p.Pods[0].Pod.Template
	p.Snapshot.Nodes = append(p.Snapshot.Nodes, cluster.Node{Name: zone, Labels: map[string]string{api.LabelZone: zone}, Unschedulable: true})
	running := &cluster.Template{Namespace: of.Namespace, Labels: of.Labels, Requests: amount.List{amount.Pods: 1}}
	for i := range pods {
		p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{
			PodKey: cluster.PodKey{Namespace: of.Namespace, Name: fmt.Sprint(zone, "-", i)}, Template: running, NodeName: zone, State: cluster.PodBound,
		})
	}
	if repels {
		guard := &cluster.Template{Namespace: of.Namespace, Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: api.LabelZone, LabelSelector: &metav1.LabelSelector{MatchLabels: of.Labels}}},
		}}}
		p.Snapshot.Pods = append(p.Snapshot.Pods, cluster.Pod{
			PodKey: cluster.PodKey{Namespace: of.Namespace, Name: zone + "-guard"}, Template: guard, NodeName: zone, State: cluster.PodBound,
		})
	}
}
