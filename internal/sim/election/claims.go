package election

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/process"
)

// Claims says whose orders a cloud serves. The zero value serves everybody.
type Claims struct {
	holder    *process.Process               // who has claimed last; nil: nobody
	refusedAt map[*process.Process]time.Time // when an order of another process was refused since
}

// Claim refuses the orders of other processes from now on, as EC2 does by the launch templates
// that a claim deletes. A process makes its own again once an order was refused, so that a claim
// that comes late stops the leader for one order.
func (c *Claims) Claim(p *process.Process) { *c = Claims{holder: p} }

// Admit reports whether an order is served that a process began at that time.
func (c *Claims) Admit(p *process.Process, begun time.Time) bool {
	if c.holder == nil || c.holder == p {
		return true
	}
	if at, refused := c.refusedAt[p]; refused && begun.After(at) {
		return true
	}
	if c.refusedAt == nil {
		c.refusedAt = map[*process.Process]time.Time{}
	}
	c.refusedAt[p] = time.Now()
	return false
}
