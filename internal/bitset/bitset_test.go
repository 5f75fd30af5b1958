package bitset

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbers are an ordinary set, by which a Set is judged.
type numbers map[int]bool

// someOf returns the same random elements below n as both kinds of set.
func someOf(random *rand.Rand, n int) (Set, numbers) {
	b, want := New(n), numbers{}
	for range random.IntN(n + 1) {
		i := random.IntN(n)
		b.Add(i)
		want[i] = true
	}
	return b, want
}

func both(a, b numbers) numbers {
	out := maps.Clone(a)
	maps.DeleteFunc(out, func(i int, _ bool) bool { return !b[i] })
	return out
}

// wantSet checks that all that can be asked of a set agrees.
func wantSet(t *testing.T, what string, got Set, want numbers, n int) {
	t.Helper()
	elements := slices.Sorted(maps.Keys(want))
	if all := slices.Collect(got.All); !slices.Equal(all, elements) || got.Count() != len(want) || got.Empty() != (len(want) == 0) {
		t.Fatalf("%s: %v, count %d, empty %t; want %v", what, all, got.Count(), got.Empty(), elements)
	}
	for i := range n {
		if got.Has(i) != want[i] {
			t.Fatalf("%s: has %d = %t", what, i, got.Has(i))
		}
	}
}

// A Set is a set: each operation does what it does to an ordinary one, also where
// elements are at the borders of machine words.
func TestSet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 63, 64, 65, 130} {
		for range 50 {
			a, inA := someOf(random, n)
			b, inB := someOf(random, n)
			wantSet(t, "what was added", a, inA, n)
			common := both(inA, inB)
			if a.Meets(b) != (len(common) > 0) {
				t.Fatalf("%v meets %v = %t", inA, inB, a.Meets(b))
			}
			if a.SubsetOf(b) != (len(common) == len(inA)) {
				t.Fatalf("%v is a subset of %v: %t", inA, inB, a.SubsetOf(b))
			}

			kept, joined, removed := a.Clone(), a.Clone(), a.Clone()
			kept.Keep(b)
			wantSet(t, "what is kept", kept, common, n)
			joined.Join(b)
			union := maps.Clone(inA)
			maps.Copy(union, inB)
			wantSet(t, "what is joined", joined, union, n)
			removed.Remove(b)
			rest := maps.Clone(inA)
			maps.DeleteFunc(rest, func(i int, _ bool) bool { return inB[i] })
			wantSet(t, "what is left", removed, rest, n)
			wantSet(t, "a set whose copies change", a, inA, n)

			dropped := random.IntN(n)
			joined.Drop(dropped)
			delete(union, dropped)
			wantSet(t, "what is left without one", joined, union, n)
			joined.Keep(nil)
			wantSet(t, "what is kept of nothing", joined, numbers{}, n)

			span := [2]int{random.IntN(n + 1), random.IntN(n + 1)}
			slices.Sort(span[:])
			within := slices.DeleteFunc(slices.Sorted(maps.Keys(inA)), func(i int) bool { return i < span[0] || i >= span[1] })
			if got := slices.Collect(a.Within(span)); !slices.Equal(got, within) || a.AnyIn(span) != (len(within) > 0) {
				t.Fatalf("%v within %v = %v, any %t; want %v", inA, span, got, a.AnyIn(span), within)
			}
		}
	}
}
