package topology

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// DomainAssignment is the domains of some topology keys in which a pod is,
// or may be placed.
type DomainAssignment struct {
	Keys    []string // sorted
	Domains []model.Domain
	// Lent are groups of which a DaemonSet puts a pod on each machine that would be bought.
	Lent []int
}

// AssignmentOf returns the domains that a node is in.
func AssignmentOf(keys []string, n *model.Node) *DomainAssignment {
	at := &DomainAssignment{Keys: keys, Domains: make([]model.Domain, len(keys))}
	for k, key := range keys {
		at.Domains[k].Value, at.Domains[k].Known = n.Labels[key]
	}
	return at
}

// Value returns the domain of a key, or false where there is none.
func (at *DomainAssignment) Value(key string) (string, bool) {
	i, ok := slices.BinarySearch(at.Keys, key)
	if !ok {
		return "", false
	}
	return at.Domains[i].Value, at.Domains[i].Known
}
