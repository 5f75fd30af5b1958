package assign

// Components tell which groups belong together, by the first of each. Pods that a
// constraint ties together are one component: their classes have to do with the same
// groups. What happens in one component does not matter to another.
type Components []int

// NewComponents returns components of so many groups of which none belong together.
func NewComponents(n int) Components {
	out := make(Components, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Of returns the first group of a component.
func (t Components) Of(group int) int {
	for t[group] != group {
		t[group] = t[t[group]]
		group = t[group]
	}
	return group
}

// Join makes groups belong together.
func (t Components) Join(groups []int) {
	for _, g := range groups {
		a, b := t.Of(g), t.Of(groups[0])
		t[max(a, b)] = min(a, b)
	}
}
