package pack

import "math/bits"

// bitset is a set of column indices.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) add(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) drop(i int)     { b[i>>6] &^= 1 << (i & 63) }
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

// keep removes what is not in o, of which nil is the empty set.
func (b bitset) keep(o bitset) {
	if o == nil {
		clear(b)
		return
	}
	o = o[:len(b)]
	for i := range b {
		b[i] &= o[i]
	}
}

// join adds what is in o.
func (b bitset) join(o bitset) {
	for i := range b {
		b[i] |= o[i]
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

// count returns the number of elements.
func (b bitset) count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// within returns the elements of a range [from, to) in ascending order.
func (b bitset) within(span [2]int) func(yield func(int) bool) {
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
