package colgen

import (
	"encoding/binary"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// identity is the same for equal patterns.
func identity(p Pattern) string {
	key := binary.AppendVarint(nil, int64(p.Kind))
	for _, part := range p.Parts {
		key = binary.AppendVarint(key, int64(part.Item))
		key = binary.AppendVarint(key, part.N)
	}
	return string(key)
}

// usable returns what whole items can use of a kind's room: of each resource a
// multiple of what divides all needs.
func usable(k *Kind, items []Item) []int64 {
	out := make([]int64, len(k.Room))
	for r, room := range k.Room {
		grain := int64(0)
		for _, i := range k.Items {
			if grain = amount.GCD(grain, items[i].Need[r]); grain == 1 {
				break
			}
		}
		if grain > 0 {
			out[r] = room - room%grain
		}
	}
	return out
}
