package cloud

import "time"

// Ledger is what the instances have cost so far.
type Ledger struct {
	Launched      int
	Running       int     // pending or running now
	InstanceHours float64 // from launch until the shutdown began
	CostMicros    int64   // USD × 10⁶ for these hours
	HourlyMicros  int64   // USD per hour × 10⁶ of what runs now
}

// Ledger adds up all instances since the start.
func (c *Cloud) Ledger() Ledger {
	c.mu.Lock()
	defer c.events.deliver()
	defer c.mu.Unlock()
	c.settle()
	total := c.retired
	for _, id := range sortedKeys(c.machines) {
		total.add(c.machines[id], c.now())
	}
	return total
}

func (l *Ledger) add(m *machine, now time.Time) {
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
