package pack

import "math/bits"

// bitset is a set of column indices.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

func (b bitset) clone() bitset { return append(bitset(nil), b...) }

func (b bitset) empty() bool {
	for _, w := range b {
		if w != 0 {
			return false
		}
	}
	return true
}

// meets reports whether the sets have an element in common.
func (b bitset) meets(o bitset) bool {
	for i, w := range b {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

// keep removes what is not in o.
func (b bitset) keep(o bitset) {
	for i := range b {
		b[i] &= o[i]
	}
}

// remove removes what is in o.
func (b bitset) remove(o bitset) {
	for i := range b {
		b[i] &^= o[i]
	}
}

// all calls yield with each element in ascending order until it returns false.
func (b bitset) all(yield func(int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}
