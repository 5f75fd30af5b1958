package assign

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

func preferring(n int) *Class {
	return &Class{Rules: &topology.Rules{Class: &model.Class{Places: make([]match.Requirements, 1)}, Preferences: make([]topology.Preference, n)}}
}

// TestPreferencesAreGivenUpOneByOne compares with all sets in the order of their
// importance: the first that can be met is the one that is tried next, whatever
// excludes each other. What is given up at once stays given up.
func TestPreferencesAreGivenUpOneByOne(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(r, "preferences")
		c := preferring(n)
		c.Given = topology.Relaxed(rapid.Uint64Range(0, uint64(c.Everything())-1).Draw(r, "given"))
		// A set cannot be met if it keeps all of any of these.
		clashes := rapid.SliceOfN(rapid.Uint64Range(1, uint64(c.Everything())), 1, 5).Draw(r, "clashes")
		serves := func(l Level) bool {
			for _, clash := range clashes {
				if l.Relaxed&topology.Relaxed(clash) == 0 {
					return false
				}
			}
			return true
		}
		want := c.Given + 1
		for want&c.Given != c.Given || !serves(Level{Relaxed: want}) {
			want++
		}
		got, ok := c.Next(c.FirstLevel(0), serves)
		if !ok || got.Relaxed != want {
			r.Fatalf("gives up %b, want %b", got.Relaxed, want)
		}
	})
}

// TestGivingUpEnds has answers that were wrong every time: each level gives up more than
// the one before, and the last one everything.
func TestGivingUpEnds(t *testing.T) {
	for _, n := range []int{0, 1, 5, topology.MaxPreferences, 1000} {
		c := preferring(n)
		c.Places = make([]match.Requirements, 2)
		last, steps := Level{}, 0
		for l, ok := c.Next(last, func(Level) bool { return true }); ok; l, ok = c.Next(last, func(Level) bool { return true }) {
			if l.Place == last.Place && l.Relaxed <= last.Relaxed {
				t.Fatalf("%d preferences: %v comes after %v", n, l, last)
			}
			last, steps = l, steps+1
		}
		if last != c.LastLevel() || steps > 2*topology.MaxPreferences+2 || c.Probes > maxProbes+2*topology.MaxPreferences {
			t.Errorf("%d preferences: ends with %v after %d steps and %d probes", n, last, steps, c.Probes)
		}
	}
}
