package topology

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// TestNodeCounts has pods that allow so many of a group on their node, and how many then
// may join.
func TestNodeCounts(t *testing.T) {
	alone := []PerNode{{Group: 0, Self: 1, Cap: 1, Entry: 1}}
	three := []PerNode{{Group: 0, Self: 1, Cap: 3, Entry: 3}}
	member := []PerNode{{Group: 0, Self: 1, Cap: NoCap, Entry: NoCap}}
	stranger := []PerNode{{Group: 0, Cap: 0, Entry: NoCap}}
	for name, c := range map[string]struct {
		there, comes []PerNode
		want         int64
	}{
		"alone, then alone":          {alone, alone, 0},
		"alone, then a member":       {alone, member, 0},
		"a member, then alone":       {member, alone, 0},
		"one of three":               {three, three, 2},
		"a member, then of three":    {member, three, 2},
		"members":                    {member, member, 9},
		"a member repels a stranger": {member, stranger, 0},
		"a stranger repels a member": {stranger, member, 0},
		"strangers":                  {stranger, stranger, 9},
	} {
		if got := NodeCounts(nil).Plus(c.there, 1).Room(c.comes, 9); got != c.want {
			t.Errorf("%s: got room for %d, want %d", name, got, c.want)
		}
	}
}

// TestNodeCountsAddUp checks that counts do not depend on the order in which pods come, and
// that a clone keeps its own when pods are added to the other.
func TestNodeCountsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pods [][]PerNode
		total := map[int]int64{}
		for range rapid.IntRange(1, 6).Draw(t, "pods") {
			groups := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 5, rapid.ID[int]).Draw(t, "groups")
			slices.Sort(groups)
			var pod []PerNode
			for _, g := range groups {
				pod = append(pod, PerNode{Group: g, Self: 1, Cap: NoCap, Entry: NoCap})
				total[g]++
			}
			pods = append(pods, pod)
		}
		var there NodeCounts
		for i, pod := range pods {
			if i == len(pods)/2 {
				before, had := slices.Clone(there), slices.Clone(there)
				there.Plus(pod, 1)
				if there = had; !slices.Equal(before, had) {
					t.Fatalf("a clone has changed from %v to %v", before, had)
				}
			}
			there = there.Plus(pod, 1)
		}
		for g := range 10 {
			if got, _ := there.Get(g); got != total[g] {
				t.Fatalf("%d pods of group %d are counted instead of %d", got, g, total[g])
			}
		}
	})
}

// TestAttachLimits: a node's limits are found whatever the order in which pods speak of the drivers.
func TestAttachLimits(t *testing.T) {
	gs := NewGroups(nil)
	limits := map[string]int64{"a": 1, "b": 2, "c": 3}
	for _, driver := range []string{"c", "a", "b"} {
		gs.Attachments(match.Needs{Attach: map[string]int64{driver: 1}})
	}
	counts := gs.AttachLimits(&cluster.Node{VolumeLimits: limits})
	for driver, want := range limits {
		if got := counts.Room(gs.Attachments(match.Needs{Attach: map[string]int64{driver: 1}}), 9); got != want {
			t.Errorf("%d volumes of %s may be attached, want %d", got, driver, want)
		}
	}
}
