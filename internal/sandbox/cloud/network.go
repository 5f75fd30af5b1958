package cloud

import (
	"fmt"
	"net/netip"
	"strings"
)

// network is the account's one VPC.
type network struct {
	vpc     string
	cidr    netip.Prefix
	tags    map[string]string
	subnets map[string]*subnet
	groups  map[string]*securityGroup
}

type subnet struct {
	id     string
	zone   string
	cidr   netip.Prefix
	public bool
	tags   map[string]string
	next   netip.Addr          // where the search for a free address goes on
	used   map[netip.Addr]bool // by instances
	held   int                 // taken away by tests
}

type securityGroup struct {
	id, name, description string
	tags                  map[string]string
}

// reservedAddresses is how many addresses of a subnet AWS keeps: the first
// four and the last.
const reservedAddresses = 5

// newNetwork makes the VPC with a private and a public subnet in each zone. The
// addresses that are in use in the previous network are kept.
func newNetwork(region, account, cluster string, previous *network) *network {
	base := region + account
	n := &network{
		vpc:     fixedID("vpc", base),
		cidr:    netip.MustParsePrefix("10.0.0.0/16"),
		tags:    map[string]string{"Name": cluster},
		subnets: map[string]*subnet{},
		groups:  map[string]*securityGroup{},
	}
	for i, zone := range zonesOf(region) {
		n.addSubnet(base, zone, fmt.Sprintf("10.0.%d.0/19", 32*(i+1)), map[string]string{
			"Name":                             cluster + "-private-" + zone,
			"kubernetes.io/cluster/" + cluster: "shared",
			"kubernetes.io/role/internal-elb":  "1",
			"karpenter.sh/discovery":           cluster,
		}, false)
		n.addSubnet(base, zone, fmt.Sprintf("10.0.%d.0/24", i+1), map[string]string{
			"Name":                   cluster + "-public-" + zone,
			"kubernetes.io/role/elb": "1",
		}, true)
	}
	n.addGroup(base, "default", "default VPC security group", map[string]string{})
	n.addGroup(base, "node", "EKS node shared security group", map[string]string{
		"Name":                             cluster + "-node",
		"kubernetes.io/cluster/" + cluster: "owned",
		"karpenter.sh/discovery":           cluster,
	})
	// EKS makes this one with the cluster; its tag is one that only AWS can set.
	n.addGroup(base, "eks-cluster-sg-"+cluster, "EKS created security group applied to the control plane", map[string]string{
		"Name":                             "eks-cluster-sg-" + cluster,
		"kubernetes.io/cluster/" + cluster: "owned",
		"aws:eks:cluster-name":             cluster,
	})
	if previous != nil {
		n.keepAddresses(previous)
	}
	return n
}

func (n *network) addSubnet(base, zone, cidr string, tags map[string]string, public bool) {
	prefix := netip.MustParsePrefix(cidr)
	s := &subnet{id: fixedID("subnet", base+cidr), zone: zone, cidr: prefix, public: public, tags: tags, used: map[netip.Addr]bool{}}
	s.next = s.first()
	n.subnets[s.id] = s
}

func (n *network) addGroup(base, name, description string, tags map[string]string) {
	g := &securityGroup{id: fixedID("sg", base+name), name: name, description: description, tags: tags}
	n.groups[g.id] = g
}

func (n *network) keepAddresses(previous *network) {
	for id, s := range n.subnets {
		if old := previous.subnets[id]; old != nil {
			s.used, s.next, s.held = old.used, old.next, old.held
		}
	}
}

// first returns the first address that AWS gives to instances.
func (s *subnet) first() netip.Addr {
	return s.cidr.Addr().Next().Next().Next().Next()
}

// free returns how many addresses are left.
func (s *subnet) free() int {
	size := 1 << (32 - s.cidr.Bits())
	return max(0, size-reservedAddresses-len(s.used)-s.held)
}

// take reserves an address; it returns false if none is free.
func (s *subnet) take() (netip.Addr, bool) {
	if s.free() == 0 {
		return netip.Addr{}, false
	}
	address := s.next
	for {
		if !s.cidr.Contains(address.Next()) { // the last address is the broadcast address
			address = s.first()
		}
		if !s.used[address] {
			break
		}
		address = address.Next()
	}
	s.used[address] = true
	s.next = address.Next()
	return address, true
}

func (s *subnet) release(address netip.Addr) { delete(s.used, address) }

// SetFreeAddresses leaves a subnet with that many free addresses.
func (c *Cloud) SetFreeAddresses(subnetID string, free int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.network.subnets[subnetID]
	if s == nil {
		return fmt.Errorf("set free addresses of %s: no such subnet", subnetID)
	}
	s.held = 0
	s.held = max(0, s.free()-free)
	return nil
}

// zoneID returns the id of a zone: eu-west-1a is euw1-az1.
func zoneID(zone string) string {
	region, letter := zone[:len(zone)-1], zone[len(zone)-1]
	parts := strings.Split(region, "-")
	var short strings.Builder
	for i, part := range parts {
		switch {
		case i == 0, i == len(parts)-1:
			short.WriteString(part)
		default:
			short.WriteString(shortDirection(part))
		}
	}
	return fmt.Sprintf("%s-az%d", short.String(), letter-'a'+1)
}

func shortDirection(word string) string {
	for _, first := range []string{"north", "south"} {
		if rest, found := strings.CutPrefix(word, first); found && rest != "" {
			return first[:1] + rest[:1]
		}
	}
	return word[:1]
}
