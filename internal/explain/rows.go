package explain

import (
	"fmt"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Row is machines of a kind: they differ in name, pods and how full they are.
type Row struct {
	Machine // the first
	count   int
	pods    int
	cpu     spread
	memory  spread
	// others: not all have the same runner-up.
	others bool
}

// Rows folds machines by kind, in the order of the plan.
func (r *Report) Rows() []Row {
	type kind struct {
		provisioner, instanceType, zone, capacityType string
		price                                         float64
	}
	var out []Row
	index := map[kind]int{}
	for i := range r.Machines {
		m := &r.Machines[i]
		k := kind{m.Provisioner, m.InstanceType, m.Zone, m.CapacityType, m.HourlyPrice}
		at, ok := index[k]
		if !ok {
			at = len(out)
			index[k] = at
			out = append(out, Row{Machine: *m})
		}
		g := &out[at]
		g.count++
		g.pods += len(m.Pods) + len(m.Moving)
		g.cpu.add(m.share[amount.CPU])
		g.memory.add(m.share[amount.Memory])
		g.others = g.others || !same(g.RunnerUp, m.RunnerUp)
	}
	return out
}

func same(a, b *RunnerUp) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Cells are the columns of the table: count, provisioner, type, zone, how it is bought,
// price, pods, CPU, memory and runner-up.
func (r *Row) Cells() []string {
	return []string{
		strconv.Itoa(r.count), r.Provisioner, r.InstanceType, r.Zone, r.CapacityType, fmt.Sprintf("%.4f", r.HourlyPrice),
		strconv.Itoa(r.pods), r.cpu.String(), r.memory.String(), r.runnerUp(),
	}
}

// runnerUp names the next best type, and how much more expensive it is.
func (r *Row) runnerUp() string {
	if r.RunnerUp == nil {
		return "none"
	}
	text := r.RunnerUp.InstanceType
	if r.RunnerUp.CapacityType != r.CapacityType {
		text += " " + r.RunnerUp.CapacityType
	}
	text += fmt.Sprintf(" at %.4f", r.RunnerUp.HourlyPrice)
	if r.HourlyPrice > 0 {
		text += fmt.Sprintf(" (%+.1f%%)", 100*(r.RunnerUp.HourlyPrice/r.HourlyPrice-1))
	}
	if r.others {
		text += " or others"
	}
	return text
}

// spread is how shares differ over machines.
type spread struct {
	low, high, sum float64
	n              int
}

func (s *spread) add(share float64) {
	if s.n == 0 {
		s.low, s.high = share, share
	}
	s.low, s.high = min(s.low, share), max(s.high, share)
	s.sum += share
	s.n++
}

// String returns the mean, and the range where it is not a point: "97% (94-100)".
func (s *spread) String() string {
	mean := Percent(s.sum / float64(max(1, s.n)))
	if Percent(s.low) == Percent(s.high) {
		return mean
	}
	return fmt.Sprintf("%s (%.0f-%.0f)", mean, 100*s.low, 100*s.high)
}

// why says why a machine is of its type.
func why(m *decide.Machine) string {
	types := map[string]bool{}
	for _, c := range m.Candidates {
		types[c.InstanceType] = true
	}
	text := "the only candidate type"
	if n := len(types); n > 1 {
		text = fmt.Sprintf("cheapest of its %d candidate types", n)
		if m.RunnerUp != nil && m.RunnerUp.Price == m.Chosen().Price {
			text = fmt.Sprintf("as cheap as any of its %d candidate types", n)
		}
	}
	if id := m.Chosen().Reservation; id != "" {
		text = "in capacity reservation " + id + ", which is paid for"
	}
	if n := len(m.Candidates); n > len(types) {
		text += fmt.Sprintf(" (%d offerings)", n)
	}
	if m.Ahead > 0 {
		text += fmt.Sprintf(", with room for %d more such pods, which are expected", m.Ahead)
	}
	c := Content{Allocatable: m.Allocatable, Held: m.Used}
	switch name := c.Fullest(); name {
	case "":
		return text
	case amount.Pods:
		return text + fmt.Sprintf("; the number of pods is the tightest (%s)", Percent(c.Share(name)))
	default:
		return text + fmt.Sprintf("; %s fills first (%s)", ResourceName(name), Percent(c.Share(name)))
	}
}
