package account

import (
	"fmt"
	"hash/fnv"
	"strings"
)

const upperAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// NewID returns an id such as i-0123456789abcdef0.
func (c *Account) NewID(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, c.Random.Uint64())
}

// NewUUID returns a random id of the form that requests and fleets have.
func (c *Account) NewUUID() string {
	a, b := c.Random.Uint64(), c.Random.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

// NewToken returns n characters of the alphabet of access keys.
func (c *Account) NewToken(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(upperAlphabet[c.Random.IntN(len(upperAlphabet))])
	}
	return b.String()
}

// FixedID returns an id that depends only on name: images and the network have
// the same ids in every account of the model.
func FixedID(prefix, name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s-0%016x", prefix, h.Sum64())
}
