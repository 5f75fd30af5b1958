// Package ec2 is a model of EC2.
package ec2

import (
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/capacity"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/image"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/network"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/template"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/events"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// EC2 is the service with the account's machines.
type EC2 struct {
	*account.Account
	iam    *iam.IAM
	events *events.Events

	*network.Network
	*image.Images
	*capacity.Capacity
	Catalogue *catalogue.Catalogue
	Templates *template.Templates
	Machines  map[string]*Machine // by instance id
	fleets    *fleets
	// reservations of capacity by id.
	reservations map[string]*reservation
	retired      Ledger // of instances that are no longer listed
	Events       *eventQueue
}

// New returns the service with a catalogue of instance types as CSV. SetCluster is
// to be called before it is used.
func New(a *account.Account, i *iam.IAM, e *events.Events, instanceTypes []byte) (*EC2, error) {
	parsed, err := catalogue.New(a, instanceTypes)
	if err != nil {
		return nil, fmt.Errorf("read catalogue of instance types: %w", err)
	}
	c := &EC2{
		Account: a, iam: i, events: e, Events: &eventQueue{}, Catalogue: parsed,
		Network: network.New(a), Images: image.New(a), Capacity: capacity.New(a), Templates: template.New(a), Machines: map[string]*Machine{},
		reservations: map[string]*reservation{},
	}
	c.fleets = &fleets{EC2: c, answered: map[string]fleetAnswer{}}
	a.BeforeEach, a.AfterEach = c.Settle, c.Events.Deliver
	return c, nil
}

// SetCluster gives the network and the images what follows from the cluster's name
// and version. The caller holds the account's lock.
func (c *EC2) SetCluster(cluster account.Cluster) {
	if c.VPC == "" || cluster.Name != c.Cluster.Name {
		c.Build(cluster.Name)
	}
	c.Cluster = cluster
	c.Publish()
}

// Service returns the calls that it answers.
func (c *EC2) Service() *account.Service {
	s := &account.Service{
		Version:    "2016-11-15",
		Name:       "ec2",
		Protocol:   account.QueryProtocol{Dialect: wire.EC2(), Namespace: "http://ec2.amazonaws.com/doc/2016-11-15/"},
		Words:      account.Ec2Dialect(),
		Operations: map[string]account.Operation{},
	}
	for _, part := range []interface{ AddTo(*account.Service) }{c.Catalogue, c.Network, c.Images, c.Templates} {
		part.AddTo(s)
	}
	account.AddOnAnything(s, c, (*EC2).describeInstances)
	account.AddOnAnything(s, c, describeCapacityReservations)
	account.Add(s, c.fleets, accessesOfCreateFleet, (*fleets).createFleet)
	account.Add(s, c, accessesOfRunInstances, (*EC2).runInstances)
	account.Add(s, c, accessesOfTerminateInstances, (*EC2).terminateInstances)
	account.Add(s, c, accessesOfCreateCapacityReservation, createCapacityReservation)
	account.Add(s, c, accessesOfCancelCapacityReservation, cancelCapacityReservation)
	account.Add(s, tagging{c}, accessesOfCreateTags, tagging.createTags)
	account.Add(s, tagging{c}, accessesOfDeleteTags, tagging.deleteTags)
	return s
}
