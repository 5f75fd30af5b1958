package cloud

import (
	"fmt"
	"hash/fnv"
	"strings"
)

const upperAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// newID returns an id such as i-0123456789abcdef0.
func (c *Cloud) newID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, c.random.Uint64())
}

// newUUID returns a random id of the form that requests and fleets have.
func (c *Cloud) newUUID() string {
	a, b := c.random.Uint64(), c.random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

// newToken returns n characters of the alphabet of access keys.
func (c *Cloud) newToken(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(upperAlphabet[c.random.IntN(len(upperAlphabet))])
	}
	return b.String()
}

// fixedID returns an id that depends only on name: images and the network have
// the same ids in every account of the model.
func fixedID(prefix, name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s-0%016x", prefix, h.Sum64())
}
