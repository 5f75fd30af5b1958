package ec2

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/capacity"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/image"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/network"
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
	CapacityReservation               string           // id of the one that it is in; empty for none
}

// Machine is an instance from its launch until it is no longer described.
type Machine struct {
	launchSpec
	id          string
	launchedAs  string // the id of what EC2 calls a reservation: the machines of a launch
	Address     netip.Addr
	state       string
	launched    time.Time
	ended       time.Time // when it began to shut down
	nextStep    time.Time // when it changes its state by itself; zero if it does not
	reclaim     time.Time // when EC2 takes it back; zero if it does not
	pool        *capacity.Claim
	priceMicros int64 // per hour
}

// launchSpec is everything that decides how a machine is launched.
type launchSpec struct {
	instanceType *catalogue.Type
	subnet       *network.Subnet
	image        *image.Image
	capacityType string
	profile      string // name of the instance profile
	groups       []string
	userData     []byte
	tags         map[string]string
	metadata     *types.LaunchTemplateInstanceMetadataOptionsRequest
	devices      []types.LaunchTemplateBlockDeviceMappingRequest
	efas         int32
	clientToken  string
	reservation  *types.LaunchTemplateCapacityReservationSpecificationRequest // as asked for
	// capacityReservation is the id of the one that the machine is launched into.
	capacityReservation string
}

// pool is where the machine comes from.
func (spec *launchSpec) pool() capacity.Pool {
	return capacity.Pool{InstanceType: spec.instanceType.Name, Zone: spec.subnet.Zone, CapacityType: spec.capacityType}
}

// volumes are the sizes of a machine's disks by device name, in GiB.
func (m *Machine) volumes() map[string]int32 {
	sizes := map[string]int32{m.image.RootDevice: m.image.RootSizeGiB}
	for _, d := range m.devices {
		if d.Ebs != nil && d.Ebs.VolumeSize != nil {
			sizes[account.Deref(d.DeviceName)] = *d.Ebs.VolumeSize
		}
	}
	return sizes
}

// PrivateDNS returns the name that the VPC's resolver gives to an address.
func (c *EC2) PrivateDNS(address netip.Addr) string {
	domain := c.Region + ".compute.internal"
	if c.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	return "ip-" + strings.ReplaceAll(address.String(), ".", "-") + "." + domain
}

func (c *EC2) view(m *Machine) Instance {
	tags := make(map[string]string, len(m.tags))
	maps.Copy(tags, m.tags)
	return Instance{
		ID: m.id, Type: m.instanceType.Name, ImageID: m.image.ID, Zone: m.subnet.Zone, SubnetID: m.subnet.ID,
		CapacityType: m.capacityType, PrivateIP: m.Address.String(), PrivateDNSName: c.PrivateDNS(m.Address), State: m.state,
		InstanceProfile: m.profile, UserData: m.userData, Tags: tags, LaunchTime: m.launched, PriceMicros: m.priceMicros,
		Volumes: m.volumes(), EFAs: m.efas, CapacityReservation: reservationID(c, m),
	}
}

// launch starts one machine, or says why it cannot be had.
func (c *EC2) launch(spec launchSpec) (*Machine, *account.APIError) {
	if problem := cmp.Or(c.checkPlacement(spec), c.checkMetadataTags(spec)); problem != nil {
		return nil, problem
	}
	if problem := reserve(c, &spec); problem != nil {
		return nil, problem
	}
	claim, problem := c.Capacity.Claim(spec.pool(), spec.instanceType.VCPUs, spec.capacityReservation != "")
	if problem != nil {
		return nil, problem
	}
	address, ok := spec.subnet.Take()
	if !ok {
		claim.Release()
		return nil, account.Fail("InsufficientFreeAddressesInSubnet", "There are not enough free addresses in subnet '%s' to satisfy the requested number of instances.", spec.subnet.ID)
	}
	m := &Machine{
		launchSpec: spec, id: c.NewID("i"), launchedAs: c.NewID("r"), Address: address,
		launched: c.Now(), pool: claim, priceMicros: c.Catalogue.PriceMicros(spec.instanceType, spec.subnet.Zone, spec.capacityType),
	}
	if spec.image.Windows {
		m.priceMicros += catalogue.WindowsSurcharge(spec.instanceType)
	}
	c.Machines[m.id] = m
	c.enter(m, statePending)
	c.stepAfter(m, c.Behaves.PendingDelay)
	c.Events.add(Event{Kind: Launched, Instance: c.view(m)})
	c.Log.Info("launched an instance", "id", m.id, "instance_type", m.instanceType.Name, "zone", m.subnet.Zone, "capacity_type", m.capacityType)
	return m, nil
}

// checkPlacement refuses what can never work: a type that is not offered in
// the zone or in this way, or an image for another processor.
func (c *EC2) checkPlacement(spec launchSpec) *account.APIError {
	t := spec.instanceType
	switch {
	case !t.OfferedIn(spec.subnet.Zone):
		return account.Fail("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", t.Name, spec.subnet.Zone, strings.Join(t.Zones, ", "))
	case !t.Supports(spec.capacityType):
		return account.Fail("Unsupported", "The requested configuration is currently not supported: %s is not available as %s.", t.Name, spec.capacityType)
	case spec.efas > t.EFAInterfaces:
		return account.Fail("InvalidParameterCombination", "%d EFA interfaces were requested, but instance type %s supports %d.", spec.efas, t.Name, t.EFAInterfaces)
	case !slices.Contains(t.Arches, spec.image.Arch):
		return account.Fail("InvalidParameterValue", "The architecture '%s' of the specified instance type does not match the architecture '%s' of the specified AMI. Specify an instance type and an AMI that have matching architectures, and try again.", strings.Join(t.Arches, ","), spec.image.Arch)
	}
	return nil
}

// metadataKey is what the metadata service accepts as the key of a tag.
var metadataKey = regexp.MustCompile(`^[0-9a-zA-Z\-_+=,.@:]{1,255}$`)

// checkMetadataTags refuses tags that the machine would show in its metadata under keys that cannot be part of a path.
func (c *EC2) checkMetadataTags(spec launchSpec) *account.APIError {
	shown := c.Behaves.MetadataTags
	if o := spec.metadata; o != nil && o.InstanceMetadataTags != "" {
		shown = o.InstanceMetadataTags == types.LaunchTemplateInstanceMetadataTagsStateEnabled
	}
	for _, key := range account.SortedKeys(spec.tags) {
		if shown && !metadataKey.MatchString(key) {
			return account.Fail("InvalidParameterValue", "'%s' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255}), and must not be a reserved name ('.', '..', '_index')", key)
		}
	}
	return nil
}

// stepAfter makes a machine change its state by itself after a while: when
// anybody looks, or, at the latest, when the timer fires.
func (c *EC2) stepAfter(m *Machine, delay time.Duration) {
	m.nextStep = c.Now().Add(delay)
	c.settleAfter(delay)
}

// reclaimAfter terminates a machine after a while.
func (c *EC2) reclaimAfter(m *Machine, delay time.Duration) {
	m.reclaim = c.Now().Add(delay)
	c.settleAfter(delay)
}

func (c *EC2) settleAfter(delay time.Duration) {
	time.AfterFunc(delay, func() {
		c.Mu.Lock()
		c.Settle()
		c.Mu.Unlock()
		c.Events.Deliver()
	})
}

// Settle takes all steps that are due, the earliest first.
func (c *EC2) Settle() {
	now := c.Now()
	for {
		var due []*Machine
		for _, m := range c.Machines {
			if next := m.nextChange(); !next.IsZero() && !next.After(now) {
				due = append(due, m)
			}
		}
		if len(due) == 0 {
			return
		}
		slices.SortFunc(due, func(a, b *Machine) int {
			return cmp.Or(a.nextChange().Compare(b.nextChange()), strings.Compare(a.id, b.id))
		})
		for _, m := range due {
			c.step(m)
		}
	}
}

// nextChange is when a machine changes by itself; zero if it does not.
func (m *Machine) nextChange() time.Time {
	if m.reclaim.IsZero() || (!m.nextStep.IsZero() && m.nextStep.Before(m.reclaim)) {
		return m.nextStep
	}
	return m.reclaim
}

func (c *EC2) step(m *Machine) {
	if due := m.nextChange(); due.Equal(m.reclaim) && !due.IsZero() && !due.After(c.Now()) {
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
		m.subnet.Release(m.Address)
		m.pool.Release()
		c.stepAfter(m, c.Behaves.TerminatedVisible)
		c.Events.add(Event{Kind: Terminated, Instance: c.view(m)})
		c.Log.Info("terminated an instance", "id", m.id)
	case stateTerminated:
		c.retired.add(m, c.Now())
		delete(c.Machines, m.id)
	}
}

// terminate begins to shut a machine down; it is no error if it has already
// begun.
func (c *EC2) terminate(m *Machine) {
	if m.state == stateShuttingDown || m.state == stateTerminated {
		return
	}
	c.enter(m, stateShuttingDown)
	m.ended = c.Now()
	c.stepAfter(m, c.Behaves.ShuttingDownDelay)
	c.Events.add(Event{Kind: Stopping, Instance: c.view(m)})
}

// MarkRunning makes a pending instance running at once.
func (c *EC2) MarkRunning(id string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if m := c.Machines[id]; m != nil && m.state == statePending {
		c.step(m)
	}
}

// Instances returns all instances that are described, also terminated ones,
// sorted by id.
func (c *EC2) Instances() []Instance {
	c.Mu.Lock()
	defer c.Events.Deliver()
	defer c.Mu.Unlock()
	c.Settle()
	list := make([]Instance, 0, len(c.Machines))
	for _, id := range account.SortedKeys(c.Machines) {
		list = append(list, c.view(c.Machines[id]))
	}
	return list
}
