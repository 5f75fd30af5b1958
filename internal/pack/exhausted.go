package pack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// exhausted ends a class that has spent what it may: it gets no place in this packing.
func (s *solver) exhausted(c *class) bool {
	if c.never.Kind == match.Exhausted {
		return true
	}
	s.Effort.Begin(c.Account)
	if !s.Effort.Over() {
		return false
	}
	c.never = match.Miss{Kind: match.Exhausted, Want: "planning it takes more work than one pod may take: " + topology.Bulk(c.Template)}
	return true
}
