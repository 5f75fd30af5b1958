// Package capacity is what EC2 has to sell: pools of machines, and the quotas of the account.
package capacity

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
)

// Capacity is the pools of machines and the account's quotas. Both have no limit until a
// test sets one.
type Capacity struct {
	*account.Account

	rules  []*poolRule
	quotas map[string]int32 // vCPUs by capacity type
	inUse  map[string]int32 // vCPUs by capacity type
}

// poolRule limits every pool that it matches to a number of machines.
type poolRule struct {
	instanceType, zone, capacityType string    // "*" for any
	machines                         int       // -1 for no limit
	until                            time.Time // when the rule ends; zero: never
	taken                            map[Pool]int
}

// Pool is where the machines of a type in a zone come from that are bought in one way.
type Pool struct{ InstanceType, Zone, CapacityType string }

// Claim is one machine taken out of a pool.
type Claim struct {
	capacity *Capacity
	rule     *poolRule // nil if no rule limited it
	pool     Pool
	vcpus    int32
}

// New returns a Capacity without limits.
func New(a *account.Account) *Capacity {
	return &Capacity{Account: a, quotas: map[string]int32{}, inUse: map[string]int32{}}
}

// SetCapacity says how many more machines each of the named pools has; -1 lifts
// the limit, "*" stands for every instance type, zone or capacity type. The
// last call that names a pool holds.
func (k *Capacity) SetCapacity(instanceType, zone, capacityType string, machines int) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	k.rules = append(k.rules, &poolRule{
		instanceType: instanceType, zone: zone, capacityType: capacityType, machines: machines, taken: map[Pool]int{},
	})
}

// DrainPools leaves the named pools without machines for a while.
func (k *Capacity) DrainPools(instanceType, zone, capacityType string, lasting time.Duration) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	k.rules = append(k.rules, &poolRule{
		instanceType: instanceType, zone: zone, capacityType: capacityType, taken: map[Pool]int{}, until: k.Now().Add(lasting),
	})
}

// SetQuota limits how many vCPUs of a capacity type may run at a time; -1
// lifts the limit.
func (k *Capacity) SetQuota(capacityType string, vcpus int32) {
	k.Mu.Lock()
	defer k.Mu.Unlock()
	if vcpus < 0 {
		delete(k.quotas, capacityType)
		return
	}
	k.quotas[capacityType] = vcpus
}

// ruleFor returns the last rule that matches, or nil.
func (k *Capacity) ruleFor(p Pool) *poolRule {
	for _, r := range slices.Backward(k.rules) {
		if !r.until.IsZero() && !k.Now().Before(r.until) {
			continue
		}
		if account.Wildcard(r.instanceType, p.InstanceType) && account.Wildcard(r.zone, p.Zone) && account.Wildcard(r.capacityType, p.CapacityType) {
			return r
		}
	}
	return nil
}

// Left returns how many machines a pool has left; limited is false if there is
// no end to them.
func (k *Capacity) Left(p Pool) (machines int, limited bool) {
	rule := k.ruleFor(p)
	if rule == nil || rule.machines < 0 {
		return 0, false
	}
	return rule.machines - rule.taken[p], true
}

// Claim takes one machine out of a pool, within the quota. A machine for a capacity
// reservation is there although the pool is empty.
func (k *Capacity) Claim(p Pool, vcpus int32, reserved bool) (*Claim, *account.APIError) {
	if quota, limited := k.quotas[p.CapacityType]; limited && k.inUse[p.CapacityType]+vcpus > quota {
		if p.CapacityType == catalogue.Spot {
			return nil, account.Fail("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
		}
		return nil, account.Fail("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to.", quota)
	}
	if left, limited := k.Left(p); limited && left <= 0 && !reserved {
		return nil, account.Fail("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity.", p.InstanceType, p.Zone)
	}
	claim := &Claim{capacity: k, rule: k.ruleFor(p), pool: p, vcpus: vcpus}
	k.inUse[p.CapacityType] += claim.vcpus
	if claim.rule != nil {
		claim.rule.taken[p]++
	}
	return claim, nil
}

// Release gives the machine back.
func (claim *Claim) Release() {
	claim.capacity.inUse[claim.pool.CapacityType] -= claim.vcpus
	if claim.rule != nil {
		claim.rule.taken[claim.pool]--
	}
}
