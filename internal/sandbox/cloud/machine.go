package cloud

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// The ways in which capacity is bought.
const (
	capacitySpot     = "spot"
	capacityOnDemand = "on-demand"
)

// The states of an instance, as EC2 names them.
const (
	statePending      = "pending"
	stateRunning      = "running"
	stateStopping     = "stopping"
	stateStopped      = "stopped"
	stateShuttingDown = "shutting-down"
	stateTerminated   = "terminated"
)

// Instance is what tests and the simulated kubelet see of an instance.
type Instance struct {
	ID, Type, ImageID, Zone, SubnetID string
	CapacityType                      string // "spot" or "on-demand"
	PrivateIP, PrivateDNSName         string
	State                             string
	InstanceProfile                   string // name
	UserData                          []byte
	Tags                              map[string]string
	LaunchTime                        time.Time
	PriceMicros                       int64            // USD per hour × 10⁶, as it was at the launch
	Volumes                           map[string]int32 // GiB by device name
	EFAs                              int32            // Elastic Fabric Adapters
}

// machine is an instance from its launch until it is no longer described.
type machine struct {
	launchSpec
	id          string
	reservation string
	address     netip.Addr
	state       string
	launched    time.Time
	ended       time.Time // when it began to shut down
	nextStep    time.Time // when it changes its state by itself; zero if it does not
	reclaim     time.Time // when EC2 takes it back; zero if it does not
	pool        *poolClaim
	priceMicros int64 // per hour
}

// launchSpec is everything that decides how a machine is launched.
type launchSpec struct {
	instanceType *instanceType
	subnet       *subnet
	image        *image
	capacityType string
	profile      string // name of the instance profile
	groups       []string
	userData     []byte
	tags         map[string]string
	metadata     *types.LaunchTemplateInstanceMetadataOptionsRequest
	devices      []types.LaunchTemplateBlockDeviceMappingRequest
	efas         int32
	clientToken  string
}

// volumes are the sizes of a machine's disks by device name, in GiB.
func (m *machine) volumes() map[string]int32 {
	sizes := map[string]int32{m.image.rootDevice: m.image.rootSizeGiB}
	for _, d := range m.devices {
		if d.Ebs != nil && d.Ebs.VolumeSize != nil {
			sizes[deref(d.DeviceName)] = *d.Ebs.VolumeSize
		}
	}
	return sizes
}

// privateDNS returns the name that the VPC's resolver gives to an address.
func (c *Cloud) privateDNS(address netip.Addr) string {
	domain := c.region + ".compute.internal"
	if c.region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(address.String(), ".", "-") + "." + domain
}

func (c *Cloud) view(m *machine) Instance {
	tags := make(map[string]string, len(m.tags))
	maps.Copy(tags, m.tags)
	return Instance{
		ID: m.id, Type: m.instanceType.name, ImageID: m.image.id, Zone: m.subnet.zone, SubnetID: m.subnet.id,
		CapacityType: m.capacityType, PrivateIP: m.address.String(), PrivateDNSName: c.privateDNS(m.address), State: m.state,
		InstanceProfile: m.profile, UserData: m.userData, Tags: tags, LaunchTime: m.launched, PriceMicros: m.priceMicros,
		Volumes: m.volumes(), EFAs: m.efas,
	}
}

// launch starts one machine, or says why it cannot be had.
func (c *Cloud) launch(spec launchSpec) (*machine, *apiError) {
	if problem := c.checkPlacement(spec); problem != nil {
		return nil, problem
	}
	claim, problem := c.capacity.claim(spec)
	if problem != nil {
		return nil, problem
	}
	address, ok := spec.subnet.take()
	if !ok {
		claim.release()
		return nil, fail("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", spec.subnet.id)
	}
	m := &machine{
		launchSpec: spec, id: c.newID("i"), reservation: c.newID("r"), address: address,
		launched: c.now(), pool: claim, priceMicros: c.priceMicros(spec.instanceType, spec.subnet.zone, spec.capacityType),
	}
	if spec.image.windows {
		m.priceMicros += windowsSurcharge(spec.instanceType)
	}
	c.machines[m.id] = m
	c.enter(m, statePending)
	c.stepAfter(m, c.behaviour.PendingDelay)
	c.events.add(Event{Kind: Launched, Instance: c.view(m)})
	c.log.Info("launched an instance", "id", m.id, "instance_type", m.instanceType.name, "zone", m.subnet.zone, "capacity_type", m.capacityType)
	return m, nil
}

// checkPlacement refuses what can never work: a type that is not offered in
// the zone or in this way, or an image for another processor.
func (c *Cloud) checkPlacement(spec launchSpec) *apiError {
	t := spec.instanceType
	switch {
	case !t.offeredIn(spec.subnet.zone):
		return fail("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", t.name, spec.subnet.zone, strings.Join(t.zones, ", "))
	case !t.supports(spec.capacityType):
		return fail("Unsupported", "The requested configuration is currently not supported: %s is not available as %s.", t.name, spec.capacityType)
	case spec.efas > t.efaInterfaces:
		return fail("InvalidParameterCombination", "%d EFA interfaces were requested, but instance type %s supports %d.", spec.efas, t.name, t.efaInterfaces)
	case !slices.Contains(t.arches, spec.image.arch):
		return fail("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.", strings.Join(t.arches, ","), spec.image.arch)
	}
	return nil
}

// stepAfter makes a machine change its state by itself after a while: when
// anybody looks, or, at the latest, when the timer fires.
func (c *Cloud) stepAfter(m *machine, delay time.Duration) {
	m.nextStep = c.now().Add(delay)
	c.settleAfter(delay)
}

// reclaimAfter terminates a machine after a while.
func (c *Cloud) reclaimAfter(m *machine, delay time.Duration) {
	m.reclaim = c.now().Add(delay)
	c.settleAfter(delay)
}

func (c *Cloud) settleAfter(delay time.Duration) {
	time.AfterFunc(delay, func() {
		c.mu.Lock()
		c.settle()
		c.mu.Unlock()
		c.events.deliver()
	})
}

// settle takes all steps that are due, the earliest first.
func (c *Cloud) settle() {
	now := c.now()
	for {
		var due []*machine
		for _, m := range c.machines {
			if next := m.nextChange(); !next.IsZero() && !next.After(now) {
				due = append(due, m)
			}
		}
		if len(due) == 0 {
			return
		}
		slices.SortFunc(due, func(a, b *machine) int {
			return cmp.Or(a.nextChange().Compare(b.nextChange()), strings.Compare(a.id, b.id))
		})
		for _, m := range due {
			c.step(m)
		}
	}
}

// nextChange is when a machine changes by itself; zero if it does not.
func (m *machine) nextChange() time.Time {
	if m.reclaim.IsZero() || (!m.nextStep.IsZero() && m.nextStep.Before(m.reclaim)) {
		return m.nextStep
	}
	return m.reclaim
}

func (c *Cloud) step(m *machine) {
	if due := m.nextChange(); due.Equal(m.reclaim) && !due.IsZero() && !due.After(c.now()) {
		m.reclaim = time.Time{}
		c.terminate(m)
		return
	}
	m.nextStep = time.Time{}
	switch m.state {
	case statePending:
		c.enter(m, stateRunning)
	case stateStopping:
		c.enter(m, stateStopped)
	case stateShuttingDown:
		c.enter(m, stateTerminated)
		m.subnet.release(m.address)
		m.pool.release()
		c.stepAfter(m, c.behaviour.TerminatedVisible)
		c.events.add(Event{Kind: Terminated, Instance: c.view(m)})
		c.log.Info("terminated an instance", "id", m.id)
	case stateTerminated:
		c.retired.add(m, c.now())
		delete(c.machines, m.id)
	}
}

// terminate begins to shut a machine down; it is no error if it has already
// begun.
func (c *Cloud) terminate(m *machine) {
	if m.state == stateShuttingDown || m.state == stateTerminated {
		return
	}
	c.enter(m, stateShuttingDown)
	m.ended = c.now()
	c.stepAfter(m, c.behaviour.ShuttingDownDelay)
	c.events.add(Event{Kind: Stopping, Instance: c.view(m)})
}

// MarkRunning makes a pending instance running at once.
func (c *Cloud) MarkRunning(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.machines[id]; m != nil && m.state == statePending {
		c.step(m)
	}
}

// Instances returns all instances that are described, also terminated ones,
// sorted by id.
func (c *Cloud) Instances() []Instance {
	c.mu.Lock()
	defer c.events.deliver()
	defer c.mu.Unlock()
	c.settle()
	list := make([]Instance, 0, len(c.machines))
	for _, id := range sortedKeys(c.machines) {
		list = append(list, c.view(c.machines[id]))
	}
	return list
}
