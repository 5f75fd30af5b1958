// Package network is the account's VPC with its subnets and security groups.
package network

import (
	"fmt"
	"net/netip"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// Network is the account's one VPC.
type Network struct {
	*account.Account

	VPC     string
	Tags    map[string]string
	Subnets map[string]*Subnet // by id
	Groups  map[string]*Group  // by id
}

// Subnet is a subnet of the VPC with the addresses that instances have.
type Subnet struct {
	ID     string
	Zone   string
	cidr   netip.Prefix
	Public bool
	Tags   map[string]string
	next   netip.Addr          // where the search for a free address goes on
	used   map[netip.Addr]bool // by instances
	held   int                 // taken away by tests
}

// Group is a security group.
type Group struct {
	id, Name, description string
	Tags                  map[string]string
}

// reservedAddresses is how many addresses of a subnet AWS keeps: the first
// four and the last.
const reservedAddresses = 5

// New returns a network that is empty until Build.
func New(a *account.Account) *Network { return &Network{Account: a, Subnets: map[string]*Subnet{}} }

// Build makes the VPC of a cluster, with a private and a public subnet in each zone. The
// addresses that are in use are kept.
func (n *Network) Build(cluster string) {
	base := n.Region + n.AccountID
	previous := n.Subnets
	n.VPC, n.Tags = account.FixedID("vpc", base), map[string]string{"Name": cluster}
	n.Subnets, n.Groups = map[string]*Subnet{}, map[string]*Group{}
	for i, zone := range n.Zones() {
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
	for id, s := range n.Subnets {
		if old := previous[id]; old != nil {
			s.used, s.next, s.held = old.used, old.next, old.held
		}
	}
}

// AddSubnet adds an empty subnet with a range of IPv4 addresses. Its id follows from base
// and the range. AddSubnet panics if cidr is not a range in CIDR notation.
func (n *Network) AddSubnet(base, zone, cidr string, tags map[string]string, public bool) {
	prefix := netip.MustParsePrefix(cidr)
	s := &Subnet{ID: account.FixedID("subnet", base+cidr), Zone: zone, cidr: prefix, Public: public, Tags: tags, used: map[netip.Addr]bool{}}
	s.next = s.first()
	n.Subnets[s.ID] = s
}

func (n *Network) addGroup(base, name, description string, tags map[string]string) {
	g := &Group{id: account.FixedID("sg", base+name), Name: name, description: description, Tags: tags}
	n.Groups[g.id] = g
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
func (n *Network) SetFreeAddresses(subnetID string, free int) error {
	n.Mu.Lock()
	defer n.Mu.Unlock()
	s := n.Subnets[subnetID]
	if s == nil {
		return fmt.Errorf("set free addresses of %s: no such subnet", subnetID)
	}
	s.held = 0
	s.held = max(0, s.Free()-free)
	return nil
}
