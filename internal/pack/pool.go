package pack

import "slices"

// Deployments that are spread over zones, or counted by others, make many classes
// that need the same and can have it in the same places. Their lots are bought for
// as one: which pod comes onto which machine does not matter to the price.

// pooled returns the lots of which something is left to be bought, those that are
// alike as one.
func pooled(lots []*lot) []*lot {
	var out []*lot
	known := map[string]int{} // places in out
	var key []byte
	for _, l := range lots {
		if l.n == 0 {
			continue
		}
		if len(l.host) > 0 || len(l.parts) > 1 {
			out = append(out, l)
			continue
		}
		key = l.appendKey(key[:0])
		at, ok := known[string(key)]
		switch {
		case !ok:
			known[string(key)] = len(out)
			out = append(out, l)
		case !slices.Equal(out[at].mask, l.mask):
			out = append(out, l)
		default:
			out[at] = out[at].with(l)
		}
	}
	return out
}
