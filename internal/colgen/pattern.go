package colgen

import "encoding/binary"

// identity is the same for equal patterns.
func identity(p Pattern) string {
	key := binary.AppendVarint(nil, int64(p.Kind))
	for _, part := range p.Parts {
		key = binary.AppendVarint(key, int64(part.Item))
		key = binary.AppendVarint(key, part.N)
	}
	return string(key)
}
