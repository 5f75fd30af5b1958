package sim

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/moves"
)

// Moves says what became of pods that were evicted.
func (w Records) Moves() moves.Moves {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moves.Total
}

// Spent is what the machines have cost until now, in dollars.
func (w Records) Spent() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0.0
	for _, m := range w.past {
		total += w.costs(m)
	}
	for _, m := range w.machines {
		total += w.costs(m)
	}
	return total
}

// Price is what the machines cost now, in dollars per hour.
func (w Records) Price() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0.0
	for _, m := range w.machines {
		if m.goneAt.IsZero() {
			total += w.priceOf(m).Dollars()
		}
	}
	return total
}

// costs is what a machine has cost until now or its end, in dollars.
func (w *world) costs(m *machine) float64 {
	end := w.now().Time
	if !m.goneAt.IsZero() {
		end = m.goneAt.Add(w.options.Skew)
	}
	return w.priceOf(m).Dollars() * end.Sub(m.LaunchedAt).Hours()
}

// priceOf is what a machine costs an hour.
func (w *world) priceOf(m *machine) offer.Price {
	return w.stock.Price(m.InstanceType, m.Zone, m.CapacityType)
}
