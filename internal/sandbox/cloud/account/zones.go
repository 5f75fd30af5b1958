package account

import (
	"fmt"
	"strings"
)

// ZonesOf returns the names of the availability zones that a region has here, sorted.
func ZonesOf(region string) []string {
	return []string{region + "a", region + "b", region + "c"}
}

// Zones returns the names of the region's availability zones.
func (c *Account) Zones() []string { return ZonesOf(c.Region) }

// ZoneID returns the id of a zone: eu-west-1a is euw1-az1.
func ZoneID(zone string) string {
	region, letter := zone[:len(zone)-1], zone[len(zone)-1]
	parts := strings.Split(region, "-")
	var short strings.Builder
	for i, part := range parts {
		switch {
		case i == 0, i == len(parts)-1:
			short.WriteString(part)
		default:
			short.WriteString(shortDirection(part))
		}
	}
	return fmt.Sprintf("%s-az%d", short.String(), letter-'a'+1)
}

func shortDirection(word string) string {
	for _, first := range []string{"north", "south"} {
		if rest, found := strings.CutPrefix(word, first); found && rest != "" {
			return first[:1] + rest[:1]
		}
	}
	return word[:1]
}
