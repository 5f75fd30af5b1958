package ec2

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Capacity is what AWS has to sell: pools of machines by type, zone and
// Capacity type, and the account's quotas. Both have no limit until a test
// sets one.
type Capacity struct {
	now    func() time.Time
	rules  []*poolRule
	quotas map[string]int32 // vCPUs by capacity type
	inUse  map[string]int32 // vCPUs by capacity type
}

// poolRule limits every pool that it matches to a number of machines.
type poolRule struct {
	instanceType, zone, capacityType string    // "*" for any
	machines                         int       // -1 for no limit
	until                            time.Time // when the rule ends; zero: never
	taken                            map[pool]int
}

type pool struct{ instanceType, zone, capacityType string }

// poolClaim is one machine taken out of a pool.
type poolClaim struct {
	capacity *Capacity
	rule     *poolRule // nil if no rule limited it
	pool     pool
	vcpus    int32
}

func newCapacity(now func() time.Time) *Capacity {
	return &Capacity{now: now, quotas: map[string]int32{}, inUse: map[string]int32{}}
}

// SetCapacity says how many more machines each of the named pools has; -1 lifts
// the limit, "*" stands for every instance type, zone or capacity type. The
// last call that names a pool holds.
func (c *EC2) SetCapacity(instanceType, zone, capacityType string, machines int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.capacity.rules = append(c.capacity.rules, &poolRule{
		instanceType: instanceType, zone: zone, capacityType: capacityType, machines: machines, taken: map[pool]int{},
	})
}

// DrainPools leaves the named pools without machines for a while.
func (c *EC2) DrainPools(instanceType, zone, capacityType string, lasting time.Duration) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.capacity.rules = append(c.capacity.rules, &poolRule{
		instanceType: instanceType, zone: zone, capacityType: capacityType, taken: map[pool]int{}, until: c.Now().Add(lasting),
	})
}

// SetQuota limits how many vCPUs of a capacity type may run at a time; -1
// lifts the limit.
func (c *EC2) SetQuota(capacityType string, vcpus int32) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if vcpus < 0 {
		delete(c.capacity.quotas, capacityType)
		return
	}
	c.capacity.quotas[capacityType] = vcpus
}

// ruleFor returns the last rule that matches, or nil.
func (k *Capacity) ruleFor(p pool) *poolRule {
	for _, r := range slices.Backward(k.rules) {
		if !r.until.IsZero() && !k.now().Before(r.until) {
			continue
		}
		if account.Wildcard(r.instanceType, p.instanceType) && account.Wildcard(r.zone, p.zone) && account.Wildcard(r.capacityType, p.capacityType) {
			return r
		}
	}
	return nil
}

// left returns how many machines a pool has left; limited is false if there is
// no end to them.
func (k *Capacity) left(p pool) (machines int, limited bool) {
	rule := k.ruleFor(p)
	if rule == nil || rule.machines < 0 {
		return 0, false
	}
	return rule.machines - rule.taken[p], true
}

func (spec launchSpec) pool() pool {
	return pool{spec.instanceType.Name, spec.subnet.zone, spec.capacityType}
}

// claim takes one machine out of the pool, within the quota.
func (k *Capacity) claim(spec launchSpec) (*poolClaim, *account.APIError) {
	p := spec.pool()
	if quota, limited := k.quotas[spec.capacityType]; limited && k.inUse[spec.capacityType]+spec.instanceType.VCPUs > quota {
		if spec.capacityType == capacitySpot {
			return nil, account.Fail("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
		}
		return nil, account.Fail("VcpuLimitExceeded", "You have requested more vCPU capacity than your current vCPU limit of %d allows for the instance bucket that the specified instance type belongs to.", quota)
	}
	if left, limited := k.left(p); limited && left <= 0 && spec.capacityReservation == "" {
		return nil, account.Fail("InsufficientInstanceCapacity", "We currently do not have sufficient %s capacity in the Availability Zone you requested (%s). Our system will be working on provisioning additional capacity.", p.instanceType, p.zone)
	}
	claim := &poolClaim{capacity: k, rule: k.ruleFor(p), pool: p, vcpus: spec.instanceType.VCPUs}
	k.inUse[p.capacityType] += claim.vcpus
	if claim.rule != nil {
		claim.rule.taken[p]++
	}
	return claim, nil
}

// release gives the machine back.
func (claim *poolClaim) release() {
	claim.capacity.inUse[claim.pool.capacityType] -= claim.vcpus
	if claim.rule != nil {
		claim.rule.taken[claim.pool]--
	}
}

// offeringFault adds up what the faults in force do to one purchase.
func (c *EC2) offeringFault(spec launchSpec) account.Strike {
	if spec.instanceType == nil || spec.subnet == nil {
		return account.Strike{}
	}
	return c.Strikes(func(f *account.Fault) bool {
		return f.OfOffering() && account.Wildcard(f.InstanceType, spec.instanceType.Name) &&
			account.Wildcard(f.Zone, spec.subnet.zone) && account.Wildcard(f.CapacityType, spec.capacityType)
	})
}
