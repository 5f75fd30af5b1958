package network

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// TestSubnetAddresses takes and gives back addresses at random: none is ever
// given twice, none is outside or reserved, and the count of free ones is
// right.
func TestSubnetAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &Network{Subnets: map[string]*Subnet{}}
		n.AddSubnet("base", "eu-west-1a", "10.0.0.0/28", nil, false)
		var s *Subnet
		for _, s = range n.Subnets {
		}
		var held []netip.Addr
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				s.Release(held[i])
				held = append(held[:i], held[i+1:]...)
			} else if address, ok := s.Take(); ok {
				last := address.As4()[3]
				if last < 4 || last > 14 {
					t.Fatalf("address %s is reserved", address)
				}
				for _, other := range held {
					if other == address {
						t.Fatalf("address %s was given twice", address)
					}
				}
				held = append(held, address)
			} else if len(held) != 11 {
				t.Fatalf("no address left with %d of 11 taken", len(held))
			}
			if s.Free() != 11-len(held) {
				t.Fatalf("free = %d with %d of 11 taken", s.Free(), len(held))
			}
		}
	})
}
