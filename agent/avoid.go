package agent

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// avoided are the offerings that are not bought for a while because of what became
// of a machine. Losing them at a restart costs a repeated attempt, nothing else.
type avoided struct {
	mu        sync.Mutex
	offerings map[offering]avoidance
	devices   map[device]failures
}

// device is an extended resource of the machines of a Provisioner.
type device struct{ provisioner, resource string }

// failures are machines in a row whose devices did not come. The first is replaced. When
// the replacement fails as well, another machine would not help: nothing that has the
// resource is bought for a while, which doubles each time.
type failures struct {
	rounds int
	at     time.Time // of the last
	until  time.Time // nothing is bought
}

type offering struct{ instanceType, zone, capacityType string }

type avoidance struct {
	until  time.Time
	reason string
}

func newAvoided() *avoided {
	return &avoided{offerings: map[offering]avoidance{}, devices: map[device]failures{}}
}

// like keeps the offering of a node's machine from being bought for avoidTime.
func (a *avoided) like(n *cluster.Node, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := offering{n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]}
	a.offerings[o] = avoidance{until: time.Now().Add(avoidTime), reason: reason}
}

// duds avoids what did not come up in time, and the machines whose devices do not come.
func (a *avoided) duds(v *view.View) {
	pods := v.Snapshot.PodsByNode()
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		if n.Provisioner == "" || n.Deleting {
			continue
		}
		if n.Initialized {
			a.came(n)
			continue
		}
		message, late := decide.Late(n, pods[n.Name], v.Now, v.Timeout)
		if !late {
			continue
		}
		a.like(n, "node "+n.Name+": "+message)
		if n.Ready {
			a.missed(n, wanted(v.Snapshot, n.Awaited), v.Now)
		}
	}
}

// wanted returns those of the resources that pods wait for.
func wanted(s *cluster.Snapshot, resources []string) []string {
	waiting := s.Pending()
	return slices.DeleteFunc(slices.Clone(resources), func(name string) bool {
		return !slices.ContainsFunc(waiting, func(p *cluster.Pod) bool { return p.Template.Requests[name] > 0 })
	})
}

// missed counts a machine whose devices have not come, unless it was bought before the
// last such machine was known.
func (a *avoided) missed(n *cluster.Node, resources []string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range resources {
		key := device{n.Provisioner, name}
		f := a.devices[key]
		if f.rounds > 0 && !n.Created.After(f.at) {
			continue
		}
		f.rounds, f.at = f.rounds+1, now
		if f.rounds > 1 {
			f.until = now.Add(min(leastDevicePause<<min(f.rounds-2, 10), mostDevicePause))
		}
		a.devices[key] = f
	}
}

// came forgets failures once a machine that was bought after them has its devices.
func (a *avoided) came(n *cluster.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, f := range a.devices {
		if key.provisioner == n.Provisioner && n.Allocatable[key.resource] > 0 && n.Created.After(f.at) {
			delete(a.devices, key)
		}
	}
}

// without says why nothing that has the type's devices is bought; empty where it is.
func (a *avoided) without(t *offer.InstanceType, provisioner string, now time.Time) string {
	for _, name := range t.Capacity.Names() {
		if f := a.devices[device{provisioner, name}]; t.Capacity[name] > 0 && now.Before(f.until) {
			return fmt.Sprintf("no device plugin has registered %s on machines bought one after the other, avoided until %s", name, f.until.UTC().Format(time.TimeOnly))
		}
	}
	return ""
}

// apply marks avoided offerings of a Provisioner as unavailable, in a copy.
func (a *avoided) apply(types []offer.InstanceType, provisioner string) []offer.InstanceType {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for o, why := range a.offerings {
		if !now.Before(why.until) {
			delete(a.offerings, o)
		}
	}
	if len(a.offerings)+len(a.devices) == 0 {
		return types
	}
	types = slices.Clone(types)
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		without := a.without(&types[i], provisioner, now)
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			why, ok := a.offerings[offering{types[i].Name, o.Zone, o.CapacityType}]
			switch {
			case o.Unavailable != "":
			case without != "":
				o.Unavailable = without
			case ok:
				o.Unavailable = fmt.Sprintf("%s, avoided until %s", why.reason, why.until.UTC().Format(time.TimeOnly))
			}
		}
	}
	return types
}
