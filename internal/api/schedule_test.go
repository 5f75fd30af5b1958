package api

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// A limit that is longer than any duration is a very long one, and never a short or negative one.
func TestLongLimits(t *testing.T) {
	for _, limit := range []int64{9223372036, 9223372037, 18446744074, math.MaxInt64} {
		s := ProvisionerSpec{TTLSecondsUntilExpired: &limit, TTLSecondsAfterEmpty: &limit}
		expire, expires := s.ExpireAfter()
		empty, goes := s.EmptyAfter()
		if !expires || !goes || expire != 9223372036*time.Second || empty != expire {
			t.Errorf("%d seconds are %s and %s", limit, expire, empty)
		}
	}
}

func TestBudgetActive(t *testing.T) {
	now := time.Date(2026, 1, 1, 9, 30, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		budget Budget
		want   bool
	}{
		"always":                 {Budget{}, true},
		"within the duration":    {Budget{Schedule: ptr.To("0 9 * * *"), Duration: &metav1.Duration{Duration: time.Hour}}, true},
		"after it":               {Budget{Schedule: ptr.To("0 9 * * *"), Duration: &metav1.Duration{Duration: time.Minute}}, false},
		"no schedule to be read": {Budget{Schedule: ptr.To("when I say so"), Duration: &metav1.Duration{Duration: time.Minute}}, true},
	} {
		if got := c.budget.Active(now); got != c.want {
			t.Errorf("%s: active is %v", name, got)
		}
	}
}
