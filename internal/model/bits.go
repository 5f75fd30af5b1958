package model

import "math/bits"

// Bitset is a set of offering indices.
type Bitset []uint64

// NewBitset returns an empty set of indices below n.
func NewBitset(n int) Bitset { return make(Bitset, (n+63)/64) }

// Add adds an element.
func (b Bitset) Add(i int) { b[i>>6] |= 1 << (i & 63) }

// Drop removes an element.
func (b Bitset) Drop(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is an element.
func (b Bitset) Has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// Clone returns a copy.
func (b Bitset) Clone() Bitset { return append(Bitset(nil), b...) }

// Empty reports whether there is no element.
func (b Bitset) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Meets reports whether the sets have an element in common.
func (b Bitset) Meets(o Bitset) bool {
	for i, w := range b {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

// Keep removes what is not in o, of which nil is the empty set.
func (b Bitset) Keep(o Bitset) {
	if o == nil {
		clear(b)
		return
	}
	o = o[:len(b)]
	for i := range b {
		b[i] &= o[i]
	}
}

// Join adds what is in o.
func (b Bitset) Join(o Bitset) {
	for i := range b {
		b[i] |= o[i]
	}
}

// Remove removes what is in o.
func (b Bitset) Remove(o Bitset) {
	for i := range b {
		b[i] &^= o[i]
	}
}

// All calls yield with each element in ascending order until it returns false.
func (b Bitset) All(yield func(int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Count returns the number of elements.
func (b Bitset) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Within returns the elements of a range [from, to) in ascending order.
func (b Bitset) Within(span [2]int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := span[0] >> 6; i < len(b) && i<<6 < span[1]; i++ {
			w := b[i]
			if i == span[0]>>6 {
				w &= ^uint64(0) << (span[0] & 63)
			}
			for ; w != 0; w &= w - 1 {
				k := i<<6 + bits.TrailingZeros64(w)
				if k >= span[1] || !yield(k) {
					return
				}
			}
		}
	}
}

// AnyIn reports whether the set has an element in a range [from, to).
func AnyIn(b Bitset, span [2]int) bool {
	for range b.Within(span) {
		return true
	}
	return false
}
