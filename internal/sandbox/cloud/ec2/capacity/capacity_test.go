package capacity

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

var spot, onDemand = Pool{"m5.large", "eu-west-1a", "spot"}, Pool{"m5.large", "eu-west-1a", "on-demand"}

// with returns capacity whose clock the test moves.
func with(now *time.Time) *Capacity {
	return New(account.New(account.Identity{Region: "eu-west-1", Now: func() time.Time { return *now }}))
}

func TestClaim(t *testing.T) {
	tests := map[string]struct {
		limit    func(*Capacity)
		pool     Pool
		reserved bool
		want     string // the error's code
	}{
		"no limit":                     {limit: func(*Capacity) {}, pool: spot},
		"the pool is empty":            {limit: func(c *Capacity) { c.SetCapacity("*", "*", "*", 0) }, pool: spot, want: "InsufficientInstanceCapacity"},
		"another pool is empty":        {limit: func(c *Capacity) { c.SetCapacity("*", "*", "spot", 0) }, pool: onDemand},
		"the last limit holds":         {limit: func(c *Capacity) { c.SetCapacity("*", "*", "*", 0); c.SetCapacity("m5.large", "*", "*", 1) }, pool: spot},
		"-1 lifts the limit":           {limit: func(c *Capacity) { c.SetCapacity("*", "*", "*", 0); c.SetCapacity("*", "*", "*", -1) }, pool: spot},
		"reserved machines are there":  {limit: func(c *Capacity) { c.SetCapacity("*", "*", "*", 0) }, pool: onDemand, reserved: true},
		"the spot quota":               {limit: func(c *Capacity) { c.SetQuota("spot", 1) }, pool: spot, want: "MaxSpotInstanceCountExceeded"},
		"the on-demand quota":          {limit: func(c *Capacity) { c.SetQuota("on-demand", 1) }, pool: onDemand, want: "VcpuLimitExceeded"},
		"the quota of another kind":    {limit: func(c *Capacity) { c.SetQuota("spot", 1) }, pool: onDemand},
		"a quota that is just enough":  {limit: func(c *Capacity) { c.SetQuota("spot", 2) }, pool: spot},
		"a quota that has been lifted": {limit: func(c *Capacity) { c.SetQuota("spot", 1); c.SetQuota("spot", -1) }, pool: spot},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			c := with(&now)
			tt.limit(c)
			got := ""
			if _, problem := c.Claim(tt.pool, 2, tt.reserved); problem != nil {
				got = problem.Code
			}
			if got != tt.want {
				t.Errorf("the claim ends with %q, want %q", got, tt.want)
			}
		})
	}
}

// What is given back can be claimed again, in the pool and within the quota.
func TestRelease(t *testing.T) {
	now := time.Unix(0, 0)
	c := with(&now)
	c.SetCapacity("m5.large", "*", "*", 1)
	c.SetQuota("spot", 2)
	for range 3 {
		claim, problem := c.Claim(spot, 2, false)
		if problem != nil {
			t.Fatal(problem)
		}
		if _, problem := c.Claim(spot, 2, false); problem == nil {
			t.Fatal("more was sold than there is")
		}
		claim.Release()
	}
}

// A pool that was drained has machines again when the time is over.
func TestDrainedPoolsFillAgain(t *testing.T) {
	now := time.Unix(0, 0)
	c := with(&now)
	c.DrainPools("*", "*", "spot", time.Minute)
	if left, limited := c.Left(spot); left != 0 || !limited {
		t.Errorf("%d left, limited %t, want none", left, limited)
	}
	now = now.Add(time.Minute)
	if _, limited := c.Left(spot); limited {
		t.Error("the pool is still limited after its time")
	}
}
