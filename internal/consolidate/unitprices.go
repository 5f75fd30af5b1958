package consolidate

import (
	"math"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// UnitPrices are what resources cost where they are bought well, in micro-dollars per hour
// and unit. CPU and memory have the prices of the linear program that buys all that is
// asked for: no machine offers more than its price at these.
type UnitPrices struct {
	cpu, memory float64
	// others are the least that a unit of an extended resource costs with its machine.
	others map[string]float64
}

// pricedType is what an instance type has, at its best price.
type pricedType struct {
	has   amount.List
	price offer.Price
}

// market is what Provisioners may buy.
type market []pricedType

func newMarket(provisioners []pack.Provisioner) (out market) {
	for i := range provisioners {
		p := &provisioners[i]
		asks := match.ForProvisioner(p.Spec)
		for k := range p.Types {
			if price, ok := cheapest(asks, &p.Types[k]); ok {
				out = append(out, pricedType{p.Types[k].Allocatable(), price})
			}
		}
	}
	return out
}

// NewUnitPrices finds the prices for a demand among what the Provisioners may buy.
func NewUnitPrices(provisioners []pack.Provisioner, demand amount.List) UnitPrices {
	return newMarket(provisioners).unitPrices(demand, nil)
}

// unitPrices finds the prices for a demand if each machine also runs something else, which takes a part of it.
func (m market) unitPrices(demand, beside amount.List) UnitPrices {
	r := UnitPrices{others: map[string]float64{}}
	var all []machine
	for _, t := range m {
		cpu, memory := t.has[amount.CPU]-beside[amount.CPU], t.has[amount.Memory]-beside[amount.Memory]
		if !r.special(t.has, t.price) && cpu > 0 && memory > 0 {
			all = append(all, machine{float64(cpu), float64(memory), float64(t.price)})
		}
	}
	r.solve(all, float64(demand[amount.CPU]), float64(demand[amount.Memory]))
	return r
}

// machine is what pods can have of one, and its price.
type machine struct{ cpu, memory, price float64 }

// special notes what the devices of a machine cost; false where it has none.
func (r *UnitPrices) special(has amount.List, price offer.Price) bool {
	found := false
	for name, v := range has {
		if v <= 0 || !strings.Contains(name, "/") {
			continue
		}
		found = true
		unit := float64(price) / float64(v)
		if was, ok := r.others[name]; !ok || unit < was {
			r.others[name] = unit
		}
	}
	return found
}

// cheapest is the least price of a type's offerings that the requirements allow. One in a
// capacity reservation, which is paid for already, counts with its on-demand price.
func cheapest(asks match.Requirements, t *offer.InstanceType) (offer.Price, bool) {
	for _, q := range asks {
		if values, ok := t.Labels[q.Key]; ok && !q.Set.HasAny(values) {
			return 0, false
		}
	}
	capacity, _ := asks.Get(api.LabelCapacityType)
	zone, _ := asks.Get(api.LabelZone)
	_, byCapacity := asks.Get(api.LabelCapacityType)
	_, byZone := asks.Get(api.LabelZone)
	least, found := offer.Price(0), false
	for _, o := range t.Offerings {
		if o.Unavailable != "" || byCapacity && !capacity.Has(o.CapacityType) || byZone && !zone.Has(o.Zone) {
			continue
		}
		price := o.Price
		if o.Reservation != "" {
			other := t.OfferingIn(o.Zone, api.CapacityOnDemand)
			if other == nil || other.Price == 0 {
				continue
			}
			price = other.Price
		}
		if !found || price < least {
			least, found = price, true
		}
	}
	return least, found
}

// searchSteps halve the interval in which the price of CPU lies until floating point
// cannot tell its ends apart.
const searchSteps = 100

// solve maximises cpu·C + memory·M such that no machine is worth more than its price. For
// a price of CPU the best one of memory is known, and the sum is concave in it.
func (r *UnitPrices) solve(all []machine, cpu, memory float64) {
	if len(all) == 0 {
		return
	}
	most := math.Inf(1)
	for _, g := range all {
		most = min(most, g.price/g.cpu)
	}
	ofMemory := func(a float64) float64 {
		b := math.Inf(1)
		for _, g := range all {
			b = min(b, (g.price-float64(a*g.cpu))/g.memory)
		}
		return max(b, 0)
	}
	low, high := 0.0, most
	for range searchSteps {
		third := (high - low) / 3
		a, b := low+third, high-third
		if float64(a*cpu)+float64(ofMemory(a)*memory) < float64(b*cpu)+float64(ofMemory(b)*memory) {
			low = a
		} else {
			high = b
		}
	}
	r.cpu = (low + high) / 2
	r.memory = ofMemory(r.cpu)
}

// Value is what the resources cost for an hour.
func (r *UnitPrices) Value(l amount.List) offer.Price {
	v := float64(r.cpu*float64(l[amount.CPU])) + float64(r.memory*float64(l[amount.Memory]))
	for _, name := range l.Names() {
		if unit, ok := r.others[name]; ok {
			v = max(v, unit*float64(l[name]))
		}
	}
	return offer.Price(v)
}
