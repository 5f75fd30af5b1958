package launch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// quotaShown is how long a quota that was used up is reported: longer than what draws on
// it is held back, so that it is reported while pods wait.
const quotaShown = 10 * time.Minute

// quota is one that a Provisioner has run into.
type quota struct{ provisioner, capacityType string }

type spent struct {
	until   time.Time
	message string
}

// exceed notes the refusals of an order that are due to a quota. Machines that were delivered
// clear what was noted before.
func (b *Buyer) exceed(o *order, delivered []Delivered, now time.Time) {
	for _, d := range delivered {
		if d.order == o {
			delete(b.quotas, quota{o.Provisioner, d.instance.CapacityType})
		}
	}
	for _, r := range o.refusals {
		if r.Reason == offer.RefusedQuota {
			b.quotas[quota{o.Provisioner, r.Candidate.CapacityType}] = spent{now.Add(quotaShown), r.Message}
		}
	}
}

// Quotas says which quotas a Provisioner has run into.
func (b *Buyer) Quotas(provisioner string, now time.Time) (reached []string) {
	maps.DeleteFunc(b.quotas, func(_ quota, s spent) bool { return now.After(s.until) })
	order := func(a, b quota) int { return cmp.Compare(a.capacityType, b.capacityType) }
	for _, q := range slices.SortedFunc(maps.Keys(b.quotas), order) {
		if q.provisioner == provisioner {
			reached = append(reached, fmt.Sprintf("%s machines that are too large for the quota are not requested for a few minutes at a time: %s", q.capacityType, b.quotas[q].message))
		}
	}
	return reached
}
