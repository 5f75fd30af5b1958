package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Where pods are counted on nodes by what they are labelled with, every class has a pod group
// of its own, and there are too many to look for an LP solution of machines. Nearly all of them
// may be together all the same. So what needs the same is bought for as one at first,
// and who goes onto which machine is decided then; for those that are left over, because
// they may not be where there is room, machines are bought by the pod group.

// rough returns pod groups that pool those which are alike but for whom they may share a
// machine with: where there are too many for an LP solution.
func rough(groups []*assign.PodGroup) []*assign.PodGroup {
	if len(groups) <= mostSolved {
		return groups
	}
	var out []*assign.PodGroup
	known := map[string]*assign.PodGroup{}
	var key []byte
	for _, g := range groups {
		if len(g.Parts) > 1 || g.N == 0 {
			out = append(out, g)
			continue
		}
		key = g.AppendKey(key[:0])
		pool := known[string(key)]
		if pool == nil || !slices.Equal(pool.Mask, g.Mask) {
			of := *g
			pool = &of
			pool.N, pool.Members = 0, nil
			known[string(key)] = pool
			out = append(out, pool)
		}
		pool.Members = append(pool.Members, g)
		pool.N += g.N
	}
	for i, g := range out {
		if len(g.Parts) == 1 {
			g.Loosen(i)
		}
	}
	return out
}

// buyRoughly buys machines for pools of pod groups, as far as these may be together on them.
// Room that stays free because pods may not be together is for any of the pod groups, or is not
// bought. The effort is in proportion to the pods where there are very many.
func (pu *Purchaser) buyRoughly(pools, groups []*assign.PodGroup, tier []*model.Pool) {
	before, pods := len(pu.Machines()), len(pu.Problem.Pods)
	if !pu.buying.enlarged { // by the first of several tiers and rounds
		pu.buying.enlarged = true
		enough := assign.DefaultTrials(pods) / makingShare
		pu.buying.making = pu.buying.making * max(enough, pods) / enough
	}
	for _, c := range pu.purchases(pools, tier) {
		for _, m := range c.machines {
			if m = pu.unpool(m); len(m.Items) > 0 && !pu.OnlyGuests(m) {
				pu.Buy(m)
			}
		}
	}
	for _, g := range groups {
		pu.topUp(g)
	}
	pu.Downsize(before)
}

// unpool returns a machine with the items of those that a rough one's pools stand for,
// as far as they may be together.
func (pu *Purchaser) unpool(of *assign.Machine) *assign.Machine {
	m := pu.NewMachine(of.Offering)
	for _, it := range of.Items {
		pu.unpoolItem(m, it.Group, it.N)
	}
	return m
}

func (pu *Purchaser) unpoolItem(m *assign.Machine, g *assign.PodGroup, n int64) {
	if len(g.Parts) > 1 {
		pu.AddUpTo(m, g, n)
		return
	}
	for _, of := range g.Members {
		if n == 0 {
			return
		}
		n -= pu.AddUpTo(m, of, min(n, of.N))
	}
}
