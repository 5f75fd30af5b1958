// Package avoid keeps the agent from buying again what has just failed: offerings whose machines did not come up, ended
// early or were interrupted, and kinds of machines of which several have failed one after the other.
package avoid

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

const (
	// Pause is how long an offering is avoided after its machine did not come up.
	Pause = 15 * time.Minute
	// interruptedPause is the same after the cloud has taken a machine back. The cloud may still have others.
	interruptedPause = 3 * time.Minute
	// leastDevicePause and mostDevicePause bound for how long nothing with a resource is
	// bought after a replacement whose device plugin did not register it either.
	leastDevicePause, mostDevicePause = time.Hour, 24 * time.Hour
	// leastLatePause and mostLatePause bound for how long a Provisioner buys nothing in a zone after
	// machines that did not come up in time. What has kept them from it may pass without the agent noticing.
	leastLatePause, mostLatePause = 15 * time.Minute, time.Hour
	// EarlyPressure is how soon after its launch a node must run out of disk, memory or process ids to count as a
	// machine that has failed: later, it is more likely that its pods have used them up.
	EarlyPressure = 20 * time.Minute
	// leastEndedPause and mostEndedPause bound for how long a Provisioner buys no machines of a
	// capacity type and an architecture after some that ended before they were up, or none at all after some that
	// were soon under pressure.
	leastEndedPause, mostEndedPause = 2 * time.Minute, 30 * time.Minute
)

// Offerings are those that the agent does not buy for a while, because machines
// bought from them have failed. They are lost at a restart, which costs another attempt.
type Offerings struct {
	mu        sync.Mutex
	offerings map[avoidable]avoidance
	failed    map[kind]failures
	settings  map[string]string // by Provisioner: what its machines are set up with
	partly    map[string]bool   // by node: it counts as failed, although it came up or some pods run on it
}

// kind is what machines of a Provisioner have in common that fail one after the other: an extended resource
// that no device plugin registers, the taint of nodes that run out of something as soon as they are up, the zone of
// machines that do not come up in time, or the capacity type and the architecture of machines that end before they are
// up. For example, the images of all pods may not fit on the root volume, spot machines cannot start if their key
// has no grant for EC2's role, and an image may only work on one architecture. The other fields are empty.
type kind struct{ provisioner, resource, pressure, zone, capacityType, arch string }

// failures are successive machines of a kind. The first machine is replaced. If its replacement fails as well,
// another machine would not help: none of the kind is bought for a while, which doubles with each failure.
type failures struct {
	count       int
	first, last time.Time
	until       time.Time // no machine of the kind is bought before
}

// pause is for how long no machine of the kind is bought after so many failures.
func (k *kind) pause(count int) time.Duration {
	least, most := leastEndedPause, mostEndedPause
	if k.resource != "" {
		least, most = leastDevicePause, mostDevicePause
	} else if k.zone != "" {
		least, most = leastLatePause, mostLatePause
	}
	return min(least<<min(count-2, 10), most)
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

// New returns what avoids nothing yet.
func New() *Offerings {
	return &Offerings{offerings: map[avoidable]avoidance{}, failed: map[kind]failures{}, settings: map[string]string{}, partly: map[string]bool{}}
}

// AddInterrupted avoids the offering of a node's machine for a while, for all Provisioners.
func (a *Offerings) AddInterrupted(n *cluster.Node, reason string) {
	a.addFor("", n, interruptedPause, reason)
}

func (a *Offerings) addFor(provisioner string, n *cluster.Node, during time.Duration, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := offering{n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]}
	until := time.Now().Add(during)
	a.offerings[avoidable{provisioner, o}] = avoidance{until, fmt.Sprintf("%s, avoided until %s", reason, amount.Clock(until))}
}

// AddEnded avoids what ends before it is up: the offering of the node's machine, and after a second one all
// machines of its kind.
func (a *Offerings) AddEnded(n *cluster.Node) {
	if n.Initialized {
		return
	}
	a.addFor(n.Provisioner, n, Pause, "machine of node "+n.Name+" ended before it was up")
	a.AddEndedAtOnce(n)
}

// AddEndedAtOnce does the same for a machine that ended before it had a Node object. The cloud takes its offering off the
// market by itself.
func (a *Offerings) AddEndedAtOnce(n *cluster.Node) {
	a.addFailure(n, kind{capacityType: n.Labels[api.LabelCapacityType], arch: n.Labels[api.LabelArch]}, time.Now())
}

// AddFailed avoids the offerings of machines that did not come up in time, and after a second one their zones, or the
// resources that no device plugin has registered. Machines may count as failed although pods run on them, because
// other pods wait for what they lack, or although they have come up, because they are under pressure at once. It
// returns those of them that count for the first time. Only the planning loop calls it.
func (a *Offerings) AddFailed(v *view.View) (partly []Failed) {
	pods := v.Snapshot.PodsByNode()
	for n := range v.Snapshot.EachNode() {
		if n.Provisioner == "" || n.Deleting {
			continue
		}
		if message, pressed := a.addPressed(v, n); pressed {
			partly = append(partly, Failed{n.Name, message})
		}
		if n.Initialized {
			a.clearFailures(n, v.Now)
			continue
		}
		message, late := decide.Late(n, v.ProvisionerOf(n), pods[n.Name], v.Now, v.Timeout)
		if !late {
			if message, late = a.isMissed(v, n); late {
				partly = append(partly, Failed{n.Name, message + "; it keeps running for the pods that are there"})
				a.partly[n.Name] = true
			}
		}
		if late {
			a.addLate(v, n, message)
		}
	}
	maps.DeleteFunc(a.partly, func(node string, _ bool) bool { return v.Snapshot.Node(node) == nil })
	return partly
}

// Failed is a node that has failed, by its name, with the reason.
type Failed struct{ Node, Why string }

// addPressed counts a node that has a taint of Kubernetes for pressure soon after its launch, if the taint keeps away
// pods that wait. The kubelet evicts pods then, and the next machine for them would do no better if, for example, their
// images do not fit on the root volume.
func (a *Offerings) addPressed(v *view.View, n *cluster.Node) (message string, counts bool) {
	taint, age := n.Pressure(), v.Now.Sub(n.Created)
	if taint == "" || a.partly[n.Name] || age >= EarlyPressure || !decide.KeepsAway(n, cluster.IsPressure, v.Snapshot.Pending()) {
		return "", false
	}
	a.partly[n.Name] = true
	a.addFailure(n, kind{pressure: taint}, v.Now)
	return fmt.Sprintf("has the taint %s %s after it was launched, which keeps away pods that wait", taint, amount.ShortDuration(age.Round(time.Second))), true
}

// isMissed reports whether pods wait for what a node lacks although other pods run there: its devices, or, if they
// have waited since before it was made, the removal of its startup taints. A node that is to be replaced by it waits
// likewise. The node counts once, so that its offering is not avoided for as long as it exists.
func (a *Offerings) isMissed(v *view.View, n *cluster.Node) (message string, missed bool) {
	if !n.Ready || a.partly[n.Name] {
		return "", false
	}
	by := v.ProvisionerOf(n)
	message, late := decide.Late(n, by, nil, v.Now, v.Timeout)
	switch {
	case !late:
		return "", false
	case replaces(v.Snapshot, n.Name):
		return message, true
	case len(n.Awaited) > 0:
		return message, len(wanted(v.Snapshot, n.Awaited)) > 0
	}
	return message, decide.KeepsWaiting(n, by, v.Snapshot.Pending())
}

// replaces reports whether a node is a replacement that one which was chosen to go waits for.
func replaces(s *cluster.Snapshot, name string) bool {
	return slices.ContainsFunc(s.Nodes, func(n cluster.Node) bool {
		return !n.Deleting && n.Mark().Own && slices.Contains(n.Mark().Replacements, name)
	})
}

// addLate avoids what has not come up in time.
func (a *Offerings) addLate(v *view.View, n *cluster.Node, message string) {
	a.addFor(n.Provisioner, n, Pause, "node "+n.Name+": "+message)
	if !n.Ready || len(n.Awaited) == 0 {
		a.addFailure(n, kind{zone: n.Labels[api.LabelZone]}, v.Now)
		return
	}
	for _, name := range wanted(v.Snapshot, n.Awaited) {
		a.addFailure(n, kind{resource: name}, v.Now)
	}
}

// wanted returns those of the resources that pods wait for.
func wanted(s *cluster.Snapshot, resources []string) []string {
	waiting := s.Pending()
	return slices.DeleteFunc(slices.Clone(resources), func(name string) bool {
		return !slices.ContainsFunc(waiting, func(p *cluster.Pod) bool { return p.Template.Requests[name] > 0 })
	})
}

// addFailure counts a machine that failed. A machine that was bought before the last failure does not count: it
// tells nothing new.
func (a *Offerings) addFailure(n *cluster.Node, of kind, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of.provisioner = n.Provisioner
	f := a.failed[of]
	if f.count > 0 && !n.Created.After(f.last) {
		return
	}
	f.count, f.last = f.count+1, now
	if f.count == 1 {
		f.first = now
	} else {
		f.until = now.Add(of.pause(f.count))
	}
	a.failed[of] = f
}

// clearFailures forgets the failures of a kind once a machine of it that was bought after them is up. That a machine is
// spared pressure shows late: one that was bought after the first of them is enough. Otherwise the pods of one workload
// could keep machines from all others of the Provisioner.
func (a *Offerings) clearFailures(n *cluster.Node, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for of, f := range a.failed {
		since, spared := f.last, true
		if of.pressure != "" {
			since, spared = f.first, !a.partly[n.Name]
		}
		if of.provisioner == n.Provisioner && spared && n.Created.After(since) && of.has(n, now) {
			delete(a.failed, of)
		}
	}
}

// has reports whether a node that is up is of the kind, and has what others of it lacked.
func (k *kind) has(n *cluster.Node, now time.Time) bool {
	switch {
	case k.pressure != "":
		return now.Sub(n.Created) >= EarlyPressure && n.Pressure() == ""
	case k.resource != "":
		return n.Allocatable[k.resource] > 0
	case k.zone != "":
		return k.zone == n.Labels[api.LabelZone]
	}
	return k.capacityType == n.Labels[api.LabelCapacityType] && k.arch == n.Labels[api.LabelArch]
}

// forgive forgets what has failed with other settings of the Provisioner: with the current ones, machines may come
// up.
func (a *Offerings) forgive(p *view.Provisioner) {
	if p.Market.ProfileHash == "" {
		return // they are not known now
	}
	images := make([]string, len(p.Market.Status.AMIs))
	for i := range images {
		images[i] = p.Market.Status.AMIs[i].ID
	}
	settings := fmt.Sprint(p.Raw.Hash(), p.Market.ProfileHash, p.Market.Status.SecurityGroups, images)
	if a.settings[p.Raw.Name] != settings {
		a.settings[p.Raw.Name] = settings
		maps.DeleteFunc(a.failed, func(of kind, _ failures) bool { return of.provisioner == p.Raw.Name })
		maps.DeleteFunc(a.offerings, func(of avoidable, _ avoidance) bool { return of.provisioner == p.Raw.Name })
	}
}

// failing says why no machine of an offering is bought because of machines that ended, or did not come up, one
// after the other. It is empty if machines may be bought.
func (a *Offerings) failing(t *offer.InstanceType, o *offer.Offering, of kind, now time.Time) string {
	late := of
	late.zone = o.Zone
	if f := a.failed[late]; now.Before(f.until) {
		return fmt.Sprintf("successive machines in %s did not become ready in time; the zone is avoided until %s", o.Zone, amount.Clock(f.until))
	}
	of.capacityType = o.CapacityType
	of.arch, _ = t.Label(api.LabelArch)
	if f := a.failed[of]; now.Before(f.until) {
		return fmt.Sprintf("successive %s machines with %s ended before they became ready; such machines are avoided until %s", of.capacityType, of.arch, amount.Clock(f.until))
	}
	return ""
}

// pressed says the same of all offerings because of machines that were under pressure as soon as they were up.
func (a *Offerings) pressed(provisioner string, now time.Time) string {
	for _, taint := range cluster.PressureTaints {
		if f := a.failed[kind{provisioner: provisioner, pressure: taint}]; now.Before(f.until) {
			return fmt.Sprintf("successive machines had the taint %s soon after their launch; no machine is bought until %s", taint, amount.Clock(f.until))
		}
	}
	return ""
}

// lacking says the same of a type because of machines that lacked devices.
func (a *Offerings) lacking(t *offer.InstanceType, of kind, now time.Time) string {
	for _, name := range t.Capacity.Names() {
		of.resource = name
		if f := a.failed[of]; t.Capacity[name] > 0 && now.Before(f.until) {
			return fmt.Sprintf("no device plugin registered %s on successive machines; such machines are avoided until %s", name, amount.Clock(f.until))
		}
	}
	return ""
}

// Apply returns what a Provisioner may buy, in a copy in which avoided offerings are unavailable.
func (a *Offerings) Apply(p *view.Provisioner) []offer.InstanceType {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(a.offerings, func(_ avoidable, why avoidance) bool { return !now.Before(why.until) })
	a.forgive(p)
	market := view.CopyMarket(p.Market.Types)
	a.withholdFailing(market, p.Raw.Name, now)
	for _, provisioner := range []string{p.Raw.Name, ""} {
		for of, why := range a.offerings {
			if of.provisioner == provisioner {
				market.Withhold(of.instanceType, of.zone, of.capacityType, why.reason)
			}
		}
	}
	return market.Types
}

// withholdFailing withholds what a Provisioner does not buy because successive machines have failed.
func (a *Offerings) withholdFailing(m *view.MarketCopy, provisioner string, now time.Time) {
	holds := false
	for of, f := range a.failed {
		holds = holds || of.provisioner == provisioner && now.Before(f.until)
	}
	if !holds {
		return
	}
	of, pressed := kind{provisioner: provisioner}, a.pressed(provisioner, now)
	for i := range m.Types {
		lacking := a.lacking(&m.Types[i], of, now)
		for j := range m.Types[i].Offerings {
			m.WithholdAt(i, j, cmp.Or(pressed, a.failing(&m.Types[i], &m.Types[i].Offerings[j], of, now), lacking))
		}
	}
}
