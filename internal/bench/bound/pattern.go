package bound

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Kind is a number of pods that are alike and can go to every type.
type Kind struct {
	Need  amount.List
	Count int
}

// Kinds groups pods without constraints by what they ask for.
func Kinds(pods []*corev1.Pod) []Kind {
	var out []Kind
	at := map[string]int{}
	for _, p := range pods {
		need := check.Requests(p)
		key := fmt.Sprint(need)
		if i, ok := at[key]; ok {
			out[i].Count++
		} else {
			at[key] = len(out)
			out = append(out, Kind{Need: need, Count: 1})
		}
	}
	return out
}

// pattern is a content of one machine: how many pods of each kind.
type pattern struct {
	count []int
	price offer.Price
}

// patterns lists, for each type, every content that no pod can be added to,
// counting no more pods of a kind than there are.
func patterns(types []offer.InstanceType, kinds []Kind) []pattern {
	var out []pattern
	for i := range types {
		price := cheapest(&types[i])
		count := make([]int, len(kinds))
		var fill func(k int, room amount.List)
		fill = func(k int, room amount.List) {
			if k == len(kinds) {
				if full(kinds, count, room) {
					out = append(out, pattern{append([]int(nil), count...), price})
				}
				return
			}
			for count[k] = 0; ; count[k]++ {
				fill(k+1, room)
				if count[k] == kinds[k].Count || !kinds[k].Need.Fits(room) {
					break
				}
				room = room.Minus(kinds[k].Need)
			}
			count[k] = 0
		}
		fill(0, types[i].Allocatable())
	}
	return out
}

func full(kinds []Kind, count []int, room amount.List) bool {
	some := false
	for k := range kinds {
		if count[k] < kinds[k].Count && kinds[k].Need.Fits(room) {
			return false
		}
		some = some || count[k] > 0
	}
	return some
}

// Patterns returns the least price at which fractions of machines, each with one
// of all its possible contents, hold all pods, in dollars per hour; and the price
// of the plan that rounds these fractions up. The optimum lies between the two.
// It enumerates all contents: small cases only.
func Patterns(types []offer.InstanceType, kinds []Kind) (relaxed, rounded float64, err error) {
	p := &program{}
	for _, k := range kinds {
		p.demand = append(p.demand, float64(k.Count))
	}
	for _, content := range patterns(types, kinds) {
		column := make([]float64, len(kinds))
		for k, n := range content.count {
			column[k] = float64(n)
		}
		p.columns, p.cost = append(p.columns, column), append(p.cost, content.price.Dollars())
	}
	p.drop()
	relaxed, x, err := p.solve()
	if err != nil {
		return 0, 0, err
	}
	for k, fraction := range x {
		rounded += p.cost[k] * math.Ceil(fraction-1e-9)
	}
	return relaxed, rounded, nil
}

// Optimum returns the least price of machines that hold all pods, by trying every
// content for every remainder: very small cases only.
func Optimum(types []offer.InstanceType, kinds []Kind) offer.Price {
	all := patterns(types, kinds)
	known := map[string]offer.Price{}
	var best func(left []int) offer.Price
	best = func(left []int) offer.Price {
		first := -1
		for k, n := range left {
			if n > 0 {
				first = k
				break
			}
		}
		if first < 0 {
			return 0
		}
		key := fmt.Sprint(left)
		if price, ok := known[key]; ok {
			return price
		}
		least := offer.Price(math.MaxInt64)
		for _, content := range all { // some machine holds a pod of the first kind
			if content.count[first] == 0 {
				continue
			}
			rest := make([]int, len(left))
			for k := range left {
				rest[k] = max(0, left[k]-content.count[k])
			}
			if price := best(rest); price < math.MaxInt64-content.price {
				least = min(least, price+content.price)
			}
		}
		known[key] = least
		return least
	}
	left := make([]int, len(kinds))
	for k := range kinds {
		left[k] = kinds[k].Count
	}
	return best(left)
}
