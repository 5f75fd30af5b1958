package agent

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// avoided are the offerings that are not bought for a while because of what became
// of a machine. Losing them at a restart costs a repeated attempt, nothing else.
type avoided struct {
	mu        sync.Mutex
	offerings map[offering]avoidance
}

type offering struct{ instanceType, zone, capacityType string }

type avoidance struct {
	until  time.Time
	reason string
}

func newAvoided() *avoided { return &avoided{offerings: map[offering]avoidance{}} }

// like keeps the offering of a node's machine from being bought for avoidTime.
func (a *avoided) like(n *cluster.Node, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := offering{n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]}
	a.offerings[o] = avoidance{until: time.Now().Add(avoidTime), reason: reason}
}

// duds avoids what did not come up in time.
func (a *avoided) duds(v *view, startup time.Duration) {
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		if n.Provisioner == "" || n.Ready || n.Initialized || n.Deleting || v.now.Sub(n.Created) < startup {
			continue
		}
		a.like(n, "machine of node "+n.Name+" did not come up")
	}
}

// apply marks avoided offerings as unavailable, in a copy.
func (a *avoided) apply(types []offer.InstanceType) []offer.InstanceType {
	a.mu.Lock()
	defer a.mu.Unlock()
	for o, why := range a.offerings {
		if !time.Now().Before(why.until) {
			delete(a.offerings, o)
		}
	}
	if len(a.offerings) == 0 {
		return types
	}
	types = slices.Clone(types)
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			why, ok := a.offerings[offering{types[i].Name, o.Zone, o.CapacityType}]
			if ok && o.Unavailable == "" {
				o.Unavailable = fmt.Sprintf("%s, avoided until %s", why.reason, why.until.UTC().Format(time.TimeOnly))
			}
		}
	}
	return types
}
