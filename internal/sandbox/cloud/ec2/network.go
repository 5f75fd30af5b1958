package ec2

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Network is the account's one VPC.
type Network struct {
	VPC     string
	cidr    netip.Prefix
	tags    map[string]string
	Subnets map[string]*Subnet
	groups  map[string]*securityGroup
}

// Subnet is a subnet of the VPC with the addresses that instances have.
type Subnet struct {
	id     string
	zone   string
	cidr   netip.Prefix
	Public bool
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
func newNetwork(region, owner, cluster string, previous *Network) *Network {
	base := region + owner
	n := &Network{
		VPC:     account.FixedID("vpc", base),
		cidr:    netip.MustParsePrefix("10.0.0.0/16"),
		tags:    map[string]string{"Name": cluster},
		Subnets: map[string]*Subnet{},
		groups:  map[string]*securityGroup{},
	}
	for i, zone := range account.ZonesOf(region) {
		n.AddSubnet(base, zone, fmt.Sprintf("10.0.%d.0/19", 32*(i+1)), map[string]string{
			"Name":                             cluster + "-private-" + zone,
			"kubernetes.io/cluster/" + cluster: "shared",
			"kubernetes.io/role/internal-elb":  "1",
			"karpenter.sh/discovery":           cluster,
		}, false)
		n.AddSubnet(base, zone, fmt.Sprintf("10.0.%d.0/24", i+1), map[string]string{
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

// AddSubnet adds an empty subnet with a range of IPv4 addresses. Its id follows from base
// and the range. AddSubnet panics if cidr is not a range in CIDR notation.
func (n *Network) AddSubnet(base, zone, cidr string, tags map[string]string, public bool) {
	prefix := netip.MustParsePrefix(cidr)
	s := &Subnet{id: account.FixedID("subnet", base+cidr), zone: zone, cidr: prefix, Public: public, tags: tags, used: map[netip.Addr]bool{}}
	s.next = s.first()
	n.Subnets[s.id] = s
}

func (n *Network) addGroup(base, name, description string, tags map[string]string) {
	g := &securityGroup{id: account.FixedID("sg", base+name), name: name, description: description, tags: tags}
	n.groups[g.id] = g
}

func (n *Network) keepAddresses(previous *Network) {
	for id, s := range n.Subnets {
		if old := previous.Subnets[id]; old != nil {
			s.used, s.next, s.held = old.used, old.next, old.held
		}
	}
}

// first returns the first address that AWS gives to instances.
func (s *Subnet) first() netip.Addr {
	return s.cidr.Addr().Next().Next().Next().Next()
}

// Free returns how many addresses are left.
func (s *Subnet) Free() int {
	size := 1 << (32 - s.cidr.Bits())
	return max(0, size-reservedAddresses-len(s.used)-s.held)
}

// Take reserves an address; it returns false if none is free.
func (s *Subnet) Take() (netip.Addr, bool) {
	if s.Free() == 0 {
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

// Release frees an address that Take reserved. It does nothing if the address is free.
func (s *Subnet) Release(address netip.Addr) { delete(s.used, address) }

// SetFreeAddresses leaves a subnet with that many free addresses.
func (c *EC2) SetFreeAddresses(subnetID string, free int) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	s := c.Network.Subnets[subnetID]
	if s == nil {
		return fmt.Errorf("set free addresses of %s: no such subnet", subnetID)
	}
	s.held = 0
	s.held = max(0, s.Free()-free)
	return nil
}

// ZoneID returns the id of a zone: eu-west-1a is euw1-az1.
func ZoneID(zone string) string {
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
