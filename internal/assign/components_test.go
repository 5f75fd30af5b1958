package assign

import "testing"

func TestComponents(t *testing.T) {
	of := NewComponents(6)
	of.Join([]int{1, 3})
	of.Join([]int{5, 3})
	of.Join(nil)
	for group, want := range []int{0, 1, 2, 1, 4, 1} {
		if got := of.Of(group); got != want {
			t.Errorf("group %d is in component %d, want %d", group, got, want)
		}
	}
}
