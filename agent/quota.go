package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// conditionQuota is there while a cloud refuses machines because the account may
// not have more of them: nothing but people can change that.
const (
	conditionQuota = "QuotaExceeded"
	reasonQuota    = conditionQuota
)

// quota is one that a Provisioner has run into.
type quota struct{ provisioner, capacityType string }

type spent struct {
	until   time.Time
	message string
}

// exceed notes the refusals of an order for a quota's sake; machines that were
// delivered end what was noted before.
func (h *history) exceed(o *order, delivered []delivered, now time.Time) {
	for _, d := range delivered {
		if d.order == o {
			delete(h.quotas, quota{o.Provisioner, d.instance.CapacityType})
		}
	}
	for _, r := range o.refusals {
		if r.Reason == offer.RefusedQuota {
			h.quotas[quota{o.Provisioner, r.Candidate.CapacityType}] = spent{now.Add(quotaShown), r.Message}
		}
	}
}

// setQuotaCondition says which quotas a Provisioner has run into.
func (h *history) setQuotaCondition(p *provisioner, conditions *[]metav1.Condition, now time.Time) {
	maps.DeleteFunc(h.quotas, func(_ quota, s spent) bool { return now.After(s.until) })
	order := func(a, b quota) int { return cmp.Compare(a.capacityType, b.capacityType) }
	var reached []string
	for _, q := range slices.SortedFunc(maps.Keys(h.quotas), order) {
		if q.provisioner == p.raw.Name {
			reached = append(reached, fmt.Sprintf("%s capacity is held back for minutes at a time: %s", q.capacityType, h.quotas[q].message))
		}
	}
	if len(reached) == 0 {
		meta.RemoveStatusCondition(conditions, conditionQuota)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: conditionQuota, Status: metav1.ConditionTrue, Reason: reasonQuota, ObservedGeneration: p.raw.Generation,
		Message: strings.Join(reached, "; ") + "; ask AWS for a higher quota, or allow the other capacity type",
	})
}
