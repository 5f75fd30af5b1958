// Package bitset holds sets of small numbers, such as those of offerings.
package bitset

import (
	"encoding/binary"
	"math/bits"
)

// Set has bit k%64 of word k/64 for element k.
type Set []uint64

// New returns an empty set of numbers below n.
func New(n int) Set { return make(Set, (n+63)/64) }

// Add adds an element.
func (b Set) Add(i int) { b[i>>6] |= 1 << (i & 63) }

// Drop removes an element.
func (b Set) Drop(i int) { b[i>>6] &^= 1 << (i & 63) }

// Has reports whether i is an element.
func (b Set) Has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// Clone returns a copy.
func (b Set) Clone() Set { return append(Set(nil), b...) }

// Empty reports whether there is no element.
func (b Set) Empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// Meets reports whether the sets have an element in common.
func (b Set) Meets(o Set) bool {
	for i, w := range b {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

// SubsetOf reports whether the other set has all elements.
func (b Set) SubsetOf(o Set) bool {
	for i, w := range b {
		if w&^o[i] != 0 {
			return false
		}
	}
	return true
}

// Keep removes what is not in o, of which nil is the empty set.
func (b Set) Keep(o Set) {
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
func (b Set) Join(o Set) {
	for i := range b {
		b[i] |= o[i]
	}
}

// Remove removes what is in o.
func (b Set) Remove(o Set) {
	for i := range b {
		b[i] &^= o[i]
	}
}

// All calls yield with each element in ascending order until it returns false.
func (b Set) All(yield func(int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// Count returns the number of elements.
func (b Set) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// CountIn returns the number of elements that the other set has too.
func (b Set) CountIn(o Set) int {
	n := 0
	for i, w := range b {
		n += bits.OnesCount64(w & o[i])
	}
	return n
}

// Within returns the elements of a range [from, to) in ascending order.
func (b Set) Within(span [2]int) func(yield func(int) bool) {
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

// AppendKey appends what identifies the set among those of the same length.
func (b Set) AppendKey(key []byte) []byte {
	for _, word := range b {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	return key
}

// AnyIn reports whether the set has an element in a range [from, to).
func (b Set) AnyIn(span [2]int) bool {
	for range b.Within(span) {
		return true
	}
	return false
}
