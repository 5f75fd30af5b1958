package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Pods that keep each other off their nodes need machines as they need memory. If a node holds
// only so many pods of a group, the places for them there are a resource like others. This
// gives the places a price, so that the machines that are bought are no larger than all the
// places need, instead of large ones first and then one for each pod that is left. The
// constraints decide which pods may be together; slots only price it.

// slotPrefix marks the pseudo-resource of places for pods of a group on one node.
const slotPrefix = "slots of group "

// maxSlots bounds the groups whose places are counted: each makes all vectors longer.
const maxSlots = 4

// slotShare is the share of all pods that must need a machine each for slots to be worth while:
// fewer pods find a machine that is bought anyway.
const slotShare = 1.0 / 16

// slot is a group whose places on nodes are a resource.
type slot struct {
	group    int
	resource int   // index in the space
	most     int64 // pods of the group on one node
	machines int64 // that the group needs
}

// reserveSlots counts the places of those groups that need many machines.
func (b *builder) reserveSlots() {
	if !b.Uses(Slots) {
		return
	}
	var names []string
	var each []int64
	for _, of := range b.scarce() {
		of.resource = len(b.Space.Names) + len(b.slots)
		b.slots, names, each = append(b.slots, of), append(names, fmt.Sprint(slotPrefix, of.group)), append(each, of.most)
		for _, c := range b.classes {
			c.Need = append(c.Need, c.memberOf(of.group))
		}
		for _, r := range b.uses {
			r.need = append(r.need, 0) // see chargeSlots
		}
	}
	if len(names) > 0 {
		b.Supply.Extend(names, each)
		b.rememberFits()
	}
}

// scarce lists the groups that need many machines, those that need most first.
func (b *builder) scarce() []slot {
	pods, count, most := int64(0), map[int]int64{}, map[int]int64{}
	for _, c := range b.classes {
		pods += c.Left
		for _, t := range c.PerNode {
			if t.Self > 0 {
				count[t.Group] += c.Left
				most[t.Group] = max(most[t.Group], t.Cap)
			}
		}
	}
	var out []slot
	for id, g := range b.State.List {
		if g.Key != corev1.LabelHostname || g.Spread() || count[id] == 0 || most[id] >= topology.NoCap {
			continue
		}
		if n := (count[id] + most[id] - 1) / most[id]; n > 1 && float64(n) >= slotShare*float64(pods) {
			out = append(out, slot{group: id, most: most[id], machines: n})
		}
	}
	slices.SortStableFunc(out, func(a, b slot) int { return cmp.Compare(b.machines, a.machines) })
	return out[:min(len(out), maxSlots)]
}

// memberOf returns 1 where the class's pods belong to a group that is counted by node.
func (c *Class) memberOf(group int) int64 {
	for _, t := range c.PerNode {
		if t.Group == group {
			return t.Self
		}
	}
	return 0
}

// chargeSlots takes the places that running pods have on nodes.
func (b *builder) chargeSlots() {
	for _, of := range b.slots {
		for _, n := range b.nodes {
			if !b.State.CountedOn(n.Node, of.group) {
				n.Free[of.resource] = of.machines * of.most // a place for each pod
				continue
			}
			count, _ := n.Counts.Get(of.group)
			n.Free[of.resource] = max(0, of.most-count)
		}
	}
}

// Pseudo reports whether a name is that of a resource that stands for a constraint.
func Pseudo(name string) bool {
	return strings.HasPrefix(name, slotPrefix)
}
