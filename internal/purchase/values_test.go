package purchase

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// requested is the request for all pods of a problem, of which no more cores may be had; 0 is
// no limit.
func requested(p *assign.Problem, cores int64) *request {
	limits := make(assign.Limits, 1)
	if cores > 0 {
		limits[0] = amount.List{amount.CPU: 1000 * cores}
	}
	pu, groups := buying(p, limits)
	return newRequest(pu.buying, groups, pu.Selling, pu.Remaining())
}

// drawnRequest is a request for a few kinds of pods, half of the time under a limit.
func drawnRequest(t *rapid.T) *request {
	p := wasteful(t)
	return requested(p, rapid.SampledFrom([]int64{0, 0, 8, 24}).Draw(t, "limit"))
}

// checkBought finds machines that hold too much, and what does not add up.
func checkBought(t rapid.TB, b *bought) {
	t.Helper()
	r, cost := b.of, int64(0)
	left, limits := r.counts(), r.limits.Clone()
	for _, m := range b.machines {
		o, used := &r.Offerings[m.Offering], make([]int64, len(r.Space.Names))
		for _, it := range m.Items {
			left[it.Group.Index] -= it.N
			model.AddTimes(used, it.Group.Need, it.N)
		}
		if !model.Fits(used, o.Room) || !slices.Equal(used, m.Used) || len(m.Items) == 0 {
			t.Fatalf("a machine with room for %v holds %v", o.Room, used)
		}
		limits.Spend(o, 1)
		cost += r.weighedCost(m)
	}
	if !slices.Equal(left, b.left) || slices.Min(left) < 0 {
		t.Fatalf("%v is left of %v, which says that %v is", left, r.counts(), b.left)
	}
	spent := slices.ContainsFunc(limits, func(left []int64) bool { return len(left) > 0 && slices.Min(left) < 0 })
	if cost != b.cost || spent {
		t.Fatalf("the machines cost %d and leave %v of the limits, which says %d", cost, limits, b.cost)
	}
}

// TestPurchasesAddUp: however machines are bought for a request, they hold no more than what is
// asked for and what they have room for, keep the limits, and cost what is said. Without a
// limit nothing is left over.
func TestPurchasesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRequest(t)
		guess, least := r.guess()
		first := nothingBought(r)
		first.buyGreedily(r.usualOrder())
		checkBought(t, first)
		if left := first.unmet(); left > 0 {
			under := bestUnderLimits(first, guess)
			if checkBought(t, under); under.unmet() > left || r.limits[0] == nil {
				t.Fatalf("%d items are left, and %d at first", under.unmet(), left)
			}
			return
		}
		chosen := first
		patterns := newProgram(first, guess.value).buy()
		checkBought(t, patterns)
		if patterns.buyGreedily(r.usualOrder()); patterns.better(first) {
			chosen = patterns
		}
		checkBought(t, patterns)
		last := search(chosen, least, guess)
		if checkBought(t, last); last.unmet() > 0 || last.cost > chosen.cost || float64(last.cost) < least*(1-1e-9) {
			t.Fatalf("%d items are left and it costs %d after the search, %d before, and %g is proven", last.unmet(), last.cost, chosen.cost, least)
		}
	})
}

// TestNoMachineIsWorthMore: no machine that is filled scores above what its offering may score at
// most, which is why offerings that may score less need not be tried.
func TestNoMachineIsWorthMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRequest(t)
		v := newValues(r)
		v.set(r, r.order, r.counts())
		f := newFiller(r, rapid.Bool().Draw(t, "balanced"), v)
		f.queue, f.left, f.limits = r.order, r.counts(), r.limits
		for j, k := range r.candidates {
			if m := f.fill(k, r.order[0]); m != nil && v.score(r, m) > v.most[j]*(1+1e-9) {
				t.Fatalf("offering %d scores %g, at most %g", k, v.score(r, m), v.most[j])
			}
		}
	})
}

// TestFill: a filled machine has its seed, holds no more of a pod group than is left, and
// exchanges do not make its content worth less.
func TestFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRequest(t)
		v := newValues(r)
		v.set(r, r.order, r.counts())
		f := newFiller(r, false, v)
		f.queue, f.left, f.limits = r.order, r.counts(), r.limits
		k := rapid.SampledFrom(r.candidates).Draw(t, "offering")
		seed := rapid.SampledFrom(r.order).Draw(t, "seed")
		m := f.machineOf(k)
		clear(f.taken)
		if !f.take(m, seed, 1) {
			return
		}
		f.fillUp(m)
		before := v.of(m)
		f.exchangeAll(m, seed)
		if after := v.of(m); after < before*(1-1e-9) {
			t.Fatalf("the content is worth %g, and %g after exchanges", before, after)
		}
		held := make([]int64, len(r.asked))
		for _, it := range m.Items {
			held[it.Group.Index] += it.N
		}
		if !slices.Equal(held, f.taken) || held[seed] == 0 || !model.Fits(m.Used, r.Offerings[k].Room) {
			t.Fatalf("holds %v and says %v, uses %v of %v", held, f.taken, m.Used, r.Offerings[k].Room)
		}
		for i, n := range held {
			if n > f.left[i] {
				t.Fatalf("holds %d of a pod group of which %d are left", n, f.left[i])
			}
		}
	})
}

// TestBalancer: next comes what needs most of the resource of which most is left, and what does
// not fit comes no more.
func TestBalancer(t *testing.T) {
	b := balancer{groups: []int{7, 8}, scale: []float64{1, 1}, needs: []float64{4, 1, 1, 4}, rest: make([]float64, 2)}
	room := []int64{10, 10}
	if got := b.next([]int64{8, 0}, room); got != 8 {
		t.Errorf("group %d comes onto a machine with memory left, want 8", got)
	}
	if got := b.next([]int64{0, 8}, room); got != 7 {
		t.Errorf("group %d comes onto a machine with CPU left, want 7", got)
	}
	b.passOver([]int64{8, 0}, room, func(int) bool { return false })
	if !slices.Equal(b.groups, []int{8}) || !slices.Equal(b.needs, []float64{1, 4}) {
		t.Errorf("%v with needs %v may still come, want 8 alone", b.groups, b.needs)
	}
	b.passOver([]int64{0, 0}, room, func(group int) bool { return group == 8 })
	if len(b.groups) > 0 {
		t.Errorf("%v may still come, want none", b.groups)
	}
}

// TestInOrder: the important come first; among them the largest, or the smallest where a limit
// binds.
func TestInOrder(t *testing.T) {
	r := requested(assigntest.LimitedTo(0, assigntest.PodsOf{N: 1, CPU: 500}, assigntest.PodsOf{N: 1, CPU: 900}, assigntest.PodsOf{N: 1, CPU: 100, Priority: 5}), 0)
	needs := func(order []int) (out []int64) {
		for _, i := range order {
			out = append(out, r.asked[i].Need[slices.Index(r.Space.Names, amount.CPU)])
		}
		return out
	}
	if got := needs(r.inOrder(largestFirst)); !slices.Equal(got, []int64{100, 900, 500}) {
		t.Errorf("pods of %v come first", got)
	}
	if got := needs(r.inOrder(smallestFirst)); !slices.Equal(got, []int64{100, 500, 900}) {
		t.Errorf("pods of %v come first where a limit binds", got)
	}
}

// TestGuessProves: what items are worth by the guess is no more than a full machine costs for
// any offering, so that all of them together cost at least what is proven.
func TestGuessProves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawnRequest(t)
		guess, total := r.guess()
		sum := 0.0
		for i, g := range r.asked {
			sum += float64(guess.value[i] * float64(g.N))
		}
		if math.Abs(sum-total) > 1e-6*total {
			t.Fatalf("items are worth %g together, and %g is proven", sum, total)
		}
		v := newValues(r)
		v.set(r, r.order, r.counts())
		f := newFiller(r, true, v)
		f.queue, f.left, f.limits = r.order, r.counts(), r.limits
		for _, k := range r.candidates {
			m := f.fill(k, r.order[0])
			if m == nil {
				continue
			}
			value := 0.0
			for _, it := range m.Items {
				value += float64(guess.value[it.Group.Index] * float64(it.N))
			}
			if cost := float64(r.weighedCost(m)); value > cost*(1+1e-6) {
				t.Fatalf("a machine for %g holds items worth %g", cost, value)
			}
		}
	})
}
