package purchase

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// buying returns a purchaser for a problem and the pod groups of its classes.
func buying(p *assign.Problem, binding assign.Limits) (*Purchaser, []*assign.PodGroup) {
	a := assign.Prepare(p, binding, model.NewEffort(p.Pods, 0)).New()
	var groups []*assign.PodGroup
	for _, c := range a.Classes() {
		o, _ := a.OptionsAt(c, assign.Level{})
		g, _ := a.GroupFor(c, assign.Level{}, o)
		g.N, c.Booked = c.Open(), c.Open()
		groups = append(groups, g)
	}
	return New(a, NewTrials(len(p.Pods), 0)), groups
}

// unplaced counts the pods without a place.
func unplaced(a *assign.Assignment) int64 {
	n := int64(0)
	for _, c := range a.Classes() {
		n += c.Left
	}
	return n
}

// priceOf is that of all machines.
func priceOf(a *assign.Assignment) int64 {
	sum := int64(0)
	for _, m := range a.Machines() {
		sum += a.Offerings[m.Offering].Price
	}
	return sum
}

// TestBuyAll: one large machine costs less than a small one for each pod, and what a limit
// does not allow is left over.
func TestBuyAll(t *testing.T) {
	for name, of := range map[string]struct {
		limit     int64
		left      int64
		machines  int
		hourPrice int64
	}{
		"no limit":     {0, 0, 1, 8100},
		"a limit":      {4000, 4, 1, 4100},
		"a tiny limit": {1000, 8, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			binding := make(assign.Limits, 1)
			if of.limit > 0 {
				binding[0] = amount.List{amount.CPU: of.limit}
			}
			pu, groups := buying(assigntest.LimitedTo(of.limit/1000, assigntest.PodsOf{N: 8, CPU: 1000}), binding)
			pu.BuyAll(groups)
			if unplaced(pu.Assignment) != of.left || len(pu.Machines()) != of.machines || priceOf(pu.Assignment) != of.hourPrice {
				t.Errorf("%d pods left, %d machines for %d; want %d, %d for %d", unplaced(pu.Assignment), len(pu.Machines()), priceOf(pu.Assignment), of.left, of.machines, of.hourPrice)
			}
		})
	}
}

// TestLargerMachinesUnderALimit: where a limit on cores leaves a pod over, a machine that
// is planned takes it with as many cores and more memory, although that costs more.
func TestLargerMachinesUnderALimit(t *testing.T) {
	p := assigntest.LimitedTo(5, assigntest.PodsOf{N: 3, CPU: 900})
	var types []offer.InstanceType
	for _, gib := range []int64{8, 16} {
		types = append(types, offer.InstanceType{
			Name: fmt.Sprint("memory-", gib), Capacity: amount.List{amount.CPU: 2000, amount.Memory: gib << 30, amount.Pods: 10},
			Offerings: []offer.Offering{{Zone: "one", CapacityType: api.CapacityOnDemand, Price: offer.Price(1000 + 100*gib)}},
		})
	}
	p.Provisioners[0].Types = types
	p.Pods[0].Pod.Template.Requests[amount.Memory] = 5 << 30
	pu, groups := buying(p, assign.Limits{{amount.CPU: 5000}})
	r := newRequest(pu.buying, groups, pu.Pools, pu.Remaining())
	b := nothingBought(r)
	m := pu.NewMachine(0)
	_, residual := pu.Admit(m, groups[0], 1)
	m.Add(groups[0], 1, residual)
	b.buy(m, 2)
	b.enlarge()
	var got []string
	for _, m := range b.machines {
		got = append(got, fmt.Sprint(m.Items[0].N, " on ", pu.Offerings[m.Offering].Type.Name))
	}
	if want := []string{"2 on memory-16", "1 on memory-8"}; !reflect.DeepEqual(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	checkBought(t, b)
}

// wasteful draws a problem of a few kinds of pods that seldom fill a machine.
func wasteful(t *rapid.T) *assign.Problem {
	var groups []assigntest.PodsOf
	for range rapid.IntRange(2, 12).Draw(t, "groups") {
		groups = append(groups, assigntest.PodsOf{N: rapid.IntRange(1, 12).Draw(t, "pods"), CPU: 100 * rapid.Int64Range(3, 45).Draw(t, "cpu")})
	}
	return assigntest.LimitedTo(0, groups...)
}

// TestMoreBudgetIsNeverWorse: what a longer search finds is no more expensive, and all pods keep
// a place.
func TestMoreBudgetIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := wasteful(t)
		cost := func(ruins int) int64 {
			pu, groups := buying(p, make(assign.Limits, 1))
			pu.buying.searches, pu.buying.patient = ruins, true
			pu.BuyAll(groups)
			if left := unplaced(pu.Assignment); left > 0 {
				t.Fatalf("%d pods have no place", left)
			}
			return priceOf(pu.Assignment)
		}
		before := cost(0)
		for _, ruins := range []int{500, 3000, 9000} {
			after := cost(ruins)
			// The cost of having machines is not part of the price.
			if after > before {
				t.Fatalf("%d trials more make it cost %d instead of %d", ruins, after, before)
			}
			before = after
		}
	})
}

// TestPassesShareTrials: a pass has no more trials than those before it have left. One that
// breaks a limit leaves all of them to the next, in which the limit binds.
func TestPassesShareTrials(t *testing.T) {
	p := assigntest.LimitedTo(24, assigntest.PodsOf{N: 5, CPU: 2700}, assigntest.PodsOf{N: 4, CPU: 1900}, assigntest.PodsOf{N: 7, CPU: 1100})
	const all = 10_000
	trials := NewTrials(len(p.Pods), all)
	pass := func(binding assign.Limits) (spent int) {
		pu, groups := buying(p, binding)
		pu.buying = newBuyer(pu.Market, trials)
		before := trials.left
		pu.BuyAll(groups)
		return before - trials.left
	}
	if spent := pass(make(assign.Limits, 1)); spent > 0 {
		t.Errorf("a pass that breaks a limit takes %d trials", spent)
	}
	limits := assign.Limits{amount.List{amount.CPU: 24_000}}
	if spent := pass(limits); spent == 0 {
		t.Error("the next pass takes no trials")
	}
	for range 20 {
		pass(limits)
	}
	if trials.left < 0 {
		t.Errorf("all passes together take %d trials of %d", all-trials.left, all)
	}
	trials.left = 0
	if spent := pass(limits); spent > 0 {
		t.Errorf("%d trials are taken of none", spent)
	}
}

// TestSearchPays: a purchase that greedy packing leaves wasteful becomes cheaper.
func TestSearchPays(t *testing.T) {
	saved := 0
	for n := range 12 {
		var groups []assigntest.PodsOf
		for g := range 9 {
			groups = append(groups, assigntest.PodsOf{N: 3 + (n*7+g*5)%6, CPU: 500 + 100*int64((n*13+g*11)%37)})
		}
		p := assigntest.LimitedTo(0, groups...)
		cost := func(ruins int) int64 {
			pu, groups := buying(p, make(assign.Limits, 1))
			pu.buying.searches, pu.buying.patient = ruins, true
			pu.BuyAll(groups)
			return priceOf(pu.Assignment)
		}
		if cost(20_000) < cost(0) {
			saved++
		}
	}
	if saved == 0 {
		t.Error("the search saved on none of 12 purchases")
	}
}

// candidates lists the instance types that a purchase for the problem looks at.
func candidates(p *assign.Problem, without ...assign.Heuristic) []string {
	p.Without = without
	pu, groups := buying(p, make(assign.Limits, 1))
	var out []string
	for _, k := range newRequest(pu.buying, groups, pu.Selling, pu.Remaining()).candidates {
		out = append(out, pu.Offerings[k].Type.Name)
	}
	return out
}

// TestTypesTooSmallForAnyPodChangeNothing: the machines to choose from, the order of the pods and
// what they are worth are the same if a cheap type is sold that holds none of them.
func TestTypesTooSmallForAnyPodChangeNothing(t *testing.T) {
	see := func(more ...offer.InstanceType) (what []string, total float64) {
		p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 8, CPU: 1000}, assigntest.PodsOf{N: 3, CPU: 2500})
		p.Provisioners[0].Types = append(more, p.Provisioners[0].Types...)
		pu, groups := buying(p, make(assign.Limits, 1))
		r := newRequest(pu.buying, groups, pu.Pools, pu.Remaining())
		for _, k := range r.candidates {
			what = append(what, r.Offerings[k].Type.Name)
		}
		for _, i := range r.order {
			what = append(what, fmt.Sprintf("%d with a choice of %d", r.asked[i].N, r.choice[r.maskOf[i]]))
		}
		_, total = r.guess()
		return what, total
	}
	want, total := see()
	got, same := see(offer.InstanceType{
		Name: "nano", Capacity: amount.List{amount.CPU: 500, amount.Memory: 1 << 30, amount.Pods: 10},
		Offerings: []offer.Offering{{Zone: "one", CapacityType: api.CapacityOnDemand, Price: 1}},
	})
	if !reflect.DeepEqual(got, want) || same != total {
		t.Errorf("%v worth %g, without the type %v worth %g", got, same, want, total)
	}
}

// TestPrune: of very many types that are nearly alike only some of every size are looked at.
func TestPrune(t *testing.T) {
	p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 3, CPU: 900})
	p.Provisioners[0].Types = nil
	for i := range int64(600) {
		p.Provisioners[0].Types = append(p.Provisioners[0].Types, offer.InstanceType{
			Name: fmt.Sprintf("type-%03d", i), Capacity: amount.List{amount.CPU: 10_000 + 10*i, amount.Memory: 1, amount.Pods: 100},
			Offerings: []offer.Offering{{Zone: "one", CapacityType: api.CapacityOnDemand, Price: offer.Price(10_000 + 10*i)}},
		})
	}
	few, all := len(candidates(p)), len(candidates(p, assign.Prune))
	if few == 0 || few > 60 || all != 600 {
		t.Errorf("looks at %d types, and at %d without it", few, all)
	}
}

// TestRough: where pods of very many applications keep apart on nodes, what needs the same is
// bought for as one, and all have a place. Only large clusters show what that is worth.
func TestRough(t *testing.T) {
	for name, without := range map[string][]assign.Heuristic{"with it": nil, "without": {assign.Rough}} {
		t.Run(name, func(t *testing.T) {
			var apps []assigntest.PodsOf
			for i := range 450 {
				apps = append(apps, assigntest.PodsOf{N: 2, CPU: 300 * int64(1+i%6)})
			}
			p := assigntest.LimitedTo(0, apps...)
			p.Without = without
			for i := range p.Pods {
				own := map[string]string{"app": fmt.Sprint("app-", i/2)}
				p.Pods[i].Pod.Template.Labels = own
				p.Pods[i].Pod.Template.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: own},
					}},
				}}
			}
			pu, groups := buying(p, make(assign.Limits, 1))
			if pools := rough(pooled(groups)); len(groups) != 450 || len(pools) != 6 {
				t.Fatalf("%d groups in %d pools, want 450 in 6", len(groups), len(pools))
			}
			pu.BuyAll(groups)
			if left := unplaced(pu.Assignment); left > 0 || pu.buying.enlarged != (without == nil) {
				t.Errorf("%d pods have no place; bought roughly: %v", left, pu.buying.enlarged)
			}
		})
	}
}
