package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// avoided are the offerings that the agent does not buy for a while, because machines
// bought from them have failed. They are lost at a restart, which costs another attempt.
type avoided struct {
	mu        sync.Mutex
	offerings map[avoidable]avoidance
	devices   map[device]failures
}

// device is an extended resource of the machines of a Provisioner, or anyMachine.
type device struct{ provisioner, resource string }

// anyMachine stands in the place of a resource for machines that end before they are up, whatever
// they have: an image that shuts down, a key that decrypts no volume.
const anyMachine = ""

// failures are successive machines on which no device plugin registered the resource, or which
// ended before they were up. The first machine is replaced. If its replacement fails as well,
// another machine would not help: no machine with the resource is bought for a while, which
// doubles with each failure.
type failures struct {
	count int
	last  time.Time
	until time.Time // no machine with the resource is bought before
}

// pause is for how long no machine with the resource is bought.
func (f *failures) pause(resource string) time.Duration {
	least, most := leastDevicePause, mostDevicePause
	if resource == anyMachine {
		least, most = leastEndedPause, mostEndedPause
	}
	return min(least<<min(f.count-2, 10), most)
}

type offering struct{ instanceType, zone, capacityType string }

// avoidable is an offering that one Provisioner avoids. Machines of that Provisioner may fail because of its own
// settings, such as bad user data. An empty name means all Provisioners: the cloud takes machines back from all.
type avoidable struct {
	provisioner string
	offering
}

type avoidance struct {
	until  time.Time
	reason string
}

func newAvoided() *avoided {
	return &avoided{offerings: map[avoidable]avoidance{}, devices: map[device]failures{}}
}

// addOffering avoids the offering of a node's machine for avoidTime, for all Provisioners.
func (a *avoided) addOffering(n *cluster.Node, reason string) { a.addFor("", n, reason) }

func (a *avoided) addFor(provisioner string, n *cluster.Node, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := offering{n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]}
	until := time.Now().Add(avoidTime)
	a.offerings[avoidable{provisioner, o}] = avoidance{until, fmt.Sprintf("%s, avoided until %s", reason, amount.Clock(until))}
}

// addEnded avoids what ends before it is up: the offering of the node's machine, and after a second
// one all machines of its Provisioner.
func (a *avoided) addEnded(n *cluster.Node) {
	if n.Initialized {
		return
	}
	a.addFor(n.Provisioner, n, "machine of node "+n.Name+" ended before it was up")
	a.addFailures(n, []string{anyMachine}, time.Now())
}

// addFailed avoids the offerings of machines that did not become ready in time, and the resources
// that no device plugin has registered.
func (a *avoided) addFailed(v *view.View) {
	pods := v.Snapshot.PodsByNode()
	for i := range v.Snapshot.Nodes {
		n := &v.Snapshot.Nodes[i]
		if n.Provisioner == "" || n.Deleting {
			continue
		}
		if n.Initialized {
			a.clearFailures(n)
			continue
		}
		message, late := decide.Late(n, v.ProvisionerOf(n), pods[n.Name], v.Now, v.Timeout)
		if !late {
			continue
		}
		a.addFor(n.Provisioner, n, "node "+n.Name+": "+message)
		if n.Ready {
			a.addFailures(n, wanted(v.Snapshot, n.Awaited), v.Now)
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

// addFailures counts a machine that lacks resources. A machine that was bought before the last
// failure does not count: it tells nothing new.
func (a *avoided) addFailures(n *cluster.Node, resources []string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range resources {
		key := device{n.Provisioner, name}
		f := a.devices[key]
		if f.count > 0 && !n.Created.After(f.last) {
			continue
		}
		f.count, f.last = f.count+1, now
		if f.count > 1 {
			f.until = now.Add(f.pause(name))
		}
		a.devices[key] = f
	}
}

// clearFailures forgets the failures of a resource once a machine that was bought after them has it.
func (a *avoided) clearFailures(n *cluster.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, f := range a.devices {
		has := key.resource == anyMachine || n.Allocatable[key.resource] > 0
		if has && key.provisioner == n.Provisioner && n.Created.After(f.last) {
			delete(a.devices, key)
		}
	}
}

// failing says why no machine of the type is bought because of machines that were bought one after the
// other. It is empty if machines may be bought.
func (a *avoided) failing(t *offer.InstanceType, provisioner string, now time.Time) string {
	if f := a.devices[device{provisioner, anyMachine}]; now.Before(f.until) {
		return fmt.Sprintf("machines bought one after the other ended before they were up, avoided until %s", amount.Clock(f.until))
	}
	for _, name := range t.Capacity.Names() {
		if f := a.devices[device{provisioner, name}]; t.Capacity[name] > 0 && now.Before(f.until) {
			return fmt.Sprintf("no device plugin has registered %s on machines bought one after the other, avoided until %s", name, amount.Clock(f.until))
		}
	}
	return ""
}

// apply marks avoided offerings of a Provisioner as unavailable, in a copy.
func (a *avoided) apply(types []offer.InstanceType, provisioner string) []offer.InstanceType {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(a.offerings, func(_ avoidable, why avoidance) bool { return !now.Before(why.until) })
	if len(a.offerings)+len(a.devices) == 0 {
		return types
	}
	types = slices.Clone(types)
	for i := range types {
		types[i].Offerings = slices.Clone(types[i].Offerings)
		failing := a.failing(&types[i], provisioner, now)
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			key := offering{types[i].Name, o.Zone, o.CapacityType}
			o.Unavailable = cmp.Or(o.Unavailable, failing, a.offerings[avoidable{provisioner, key}].reason, a.offerings[avoidable{"", key}].reason)
		}
	}
	return types
}
