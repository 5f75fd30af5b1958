package topology

import "testing"

// TestNodeCounts has pods that allow so many of a group on their node, and how many then
// may join.
func TestNodeCounts(t *testing.T) {
	alone := []PerNode{{Group: 0, Self: 1, Cap: 1, Entry: 1}}
	three := []PerNode{{Group: 0, Self: 1, Cap: 3, Entry: 3}}
	member := []PerNode{{Group: 0, Self: 1, Cap: Unbounded, Entry: Unbounded}}
	stranger := []PerNode{{Group: 0, Cap: 0, Entry: Unbounded}}
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
