package pack

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// TestPour checks that pouring pods ends as placing them one by one does.
func TestPour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "spots")
		counts := rapid.SliceOfN(rapid.Int64Range(0, 6), n+1, n+1).Draw(t, "counts")
		prices := rapid.SliceOfN(rapid.Int64Range(1, 3), n, n).Draw(t, "prices")
		outside := rapid.Bool().Draw(t, "outside") // a domain where nothing can be bought
		skew, least := rapid.Int64Range(1, 3).Draw(t, "maxSkew"), rapid.IntRange(1, 7).Draw(t, "minDomains")
		repelled := rapid.IntRange(-1, n-1).Draw(t, "repelled")
		pods := rapid.Int64Range(0, 30).Draw(t, "pods")
		begin := func() (*solver, *class, []spot) {
			g := &group{key: "zone", tally: newTally()}
			s := &solver{Model: &model.Model{Supply: model.Supply{Effort: model.NewEffort(nil, 0)}}, groups: &groups{list: []*group{g}}}
			c := &class{Class: &model.Class{}, left: pods, keys: []string{"zone"}, member: []int{0}}
			var domains []string
			spots := make([]spot, n)
			for i := range spots {
				value := fmt.Sprint("zone-", i)
				domains = append(domains, value)
				g.count[value] = counts[i]
				spots[i] = spot{keys: c.keys, domains: []model.Domain{{Value: value, Known: true}}, lot: &lot{opt: &model.Options{}}, bargain: bargain{price: prices[i]}}
				if i == repelled {
					g.repel[value] = 1
				}
			}
			if outside {
				domains = append(domains, "elsewhere")
				g.count["elsewhere"] = counts[n]
			}
			c.spreads = []spread{{self: 1, maxSkew: skew, minDomains: least, drop: -1, domains: domains}}
			return s, c, spots
		}
		lots := func(spots []spot) []int64 {
			out := make([]int64, n)
			for i, at := range spots {
				out[i] = at.lot.n
			}
			return out
		}

		s, c, singly := begin()
		for c.open() > 0 {
			best := s.bestSpot(c, singly, 0)
			if best < 0 {
				break
			}
			singly[best].lot.n++
			c.booked++
			s.enter(c, &singly[best], nil, 1, nil)
		}
		s, c, poured := begin()
		s.pour(c, poured, 0)
		if got, want := lots(poured), lots(singly); !slices.Equal(got, want) {
			t.Fatalf("poured %v, one by one %v", got, want)
		}
		if s.bestSpot(c, poured, 0) >= 0 && c.open() > 0 {
			t.Fatalf("%d pods are left that would fit", c.open())
		}
	})
}
