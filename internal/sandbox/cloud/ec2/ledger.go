package ec2

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Ledger is what the instances have cost so far.
type Ledger struct {
	Launched      int
	Running       int     // pending or running now
	InstanceHours float64 // from launch until the shutdown began
	CostMicros    int64   // USD × 10⁶ for these hours
	HourlyMicros  int64   // USD per hour × 10⁶ of what runs now
}

// Ledger adds up all instances since the start.
func (c *EC2) Ledger() Ledger {
	c.Mu.Lock()
	defer c.Events.Deliver()
	defer c.Mu.Unlock()
	c.Settle()
	total := c.retired
	for _, id := range account.SortedKeys(c.Machines) {
		total.add(c.Machines[id], c.Now())
	}
	return total
}

func (l *Ledger) add(m *Machine, now time.Time) {
	end := m.ended
	if end.IsZero() {
		end = now
		l.Running++
		l.HourlyMicros += m.priceMicros
	}
	hours := end.Sub(m.launched).Hours()
	l.Launched++
	l.InstanceHours += hours
	l.CostMicros += int64(hours * float64(m.priceMicros))
}
