package pace

// Signal is a dirty bit that can be waited for.
type Signal chan struct{}

// NewSignal returns one that is not set.
func NewSignal() Signal { return make(Signal, 1) }

// Set sets the bit, and wakes who waits for it.
func (s Signal) Set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Clear resets the bit. The caller reads what has changed after it.
func (s Signal) Clear() {
	select {
	case <-s:
	default:
	}
}
