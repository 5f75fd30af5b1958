// Package ec2 is a model of EC2.
package ec2

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/events"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/iam"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/wire"
)

// EC2 is the service with the account's machines.
type EC2 struct {
	*account.Account
	iam    *iam.IAM
	events *events.Events

	Catalogue *Catalogue
	Network   *Network
	images    []*Image
	published time.Time                  // by when the newest public images were there
	own       []*Image                   // of the account
	templates map[string]*LaunchTemplate // by id
	Machines  map[string]*Machine        // by instance id
	fleets    map[string]fleetAnswer     // by client token
	capacity  *Capacity
	// reservations of capacity by id.
	reservations map[string]*reservation
	retired      Ledger // of instances that are no longer listed
	Events       *eventQueue
}

// New returns the service with a catalogue of instance types as CSV. SetCluster is
// to be called before it is used.
func New(a *account.Account, i *iam.IAM, e *events.Events, catalogue []byte) (*EC2, error) {
	parsed, err := parseCatalogue(catalogue, a.Region)
	if err != nil {
		return nil, fmt.Errorf("read catalogue of instance types: %w", err)
	}
	c := &EC2{
		Account: a, iam: i, events: e, Catalogue: parsed, capacity: newCapacity(a.Now), Events: &eventQueue{},
		templates: map[string]*LaunchTemplate{}, Machines: map[string]*Machine{}, fleets: map[string]fleetAnswer{},
		reservations: map[string]*reservation{},
	}
	a.BeforeEach, a.AfterEach = c.Settle, c.Events.Deliver
	return c, nil
}

// SetCluster gives the network and the images what follows from the cluster's name
// and version. The caller holds the account's lock.
func (c *EC2) SetCluster(cluster account.Cluster) {
	if c.Network == nil || cluster.Name != c.Account.Cluster.Name {
		c.Network = newNetwork(c.Region, c.AccountID, cluster.Name, c.Network)
	}
	c.Account.Cluster = cluster
	c.published = c.Now()
	c.listImages()
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
	account.AddOnAnything(s, c, (*EC2).describeInstanceTypes)
	account.AddOnAnything(s, c, (*EC2).describeInstanceTypeOfferings)
	account.AddOnAnything(s, c, (*EC2).describeSpotPriceHistory)
	account.AddOnAnything(s, c, (*EC2).describeAvailabilityZones)
	account.AddOnAnything(s, c, (*EC2).describeSubnets)
	account.AddOnAnything(s, c, (*EC2).describeSecurityGroups)
	account.AddOnAnything(s, c, (*EC2).describeImages)
	account.AddOnAnything(s, c, (*EC2).describeLaunchTemplates)
	account.AddOnAnything(s, c, (*EC2).describeLaunchTemplateVersions)
	account.AddOnAnything(s, c, (*EC2).describeInstances)
	account.AddOnAnything(s, c, describeCapacityReservations)
	account.Add(s, c, accessesOfCreateLaunchTemplate, (*EC2).createLaunchTemplate)
	account.Add(s, c, accessesOfDeleteLaunchTemplate, (*EC2).deleteLaunchTemplate)
	account.Add(s, c, accessesOfCreateFleet, (*EC2).createFleet)
	account.Add(s, c, accessesOfRunInstances, (*EC2).runInstances)
	account.Add(s, c, accessesOfTerminateInstances, (*EC2).terminateInstances)
	account.Add(s, c, accessesOfCreateCapacityReservation, createCapacityReservation)
	account.Add(s, c, accessesOfCancelCapacityReservation, cancelCapacityReservation)
	account.Add(s, c, accessesOfCreateTags, (*EC2).createTags)
	account.Add(s, c, accessesOfDeleteTags, (*EC2).deleteTags)
	return s
}

// ec2ARN returns the ARN of an EC2 resource of this account.
func (c *EC2) ec2ARN(kind, id string) string {
	return "arn:aws:ec2:" + c.Region + ":" + c.AccountID + ":" + kind + "/" + id
}

// ec2Tags turns tags into the SDK's form, sorted by key.
func ec2Tags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range account.SortedKeys(tags) {
		value := tags[key]
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	return list
}

// readTags turns the SDK's form into a map, checking the limits on keys and
// values.
func readTags(list []types.Tag) (map[string]string, error) {
	tags := map[string]string{}
	for _, tag := range list {
		key, value := account.Deref(tag.Key), account.Deref(tag.Value)
		switch {
		case key == "" || len(key) > 127:
			return nil, account.Fail("InvalidParameterValue", "Tag key must be between 1 and 127 characters long: '%s'", key)
		case len(key) >= 4 && key[:4] == "aws:":
			return nil, account.Fail("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(value) > 255:
			return nil, account.Fail("InvalidParameterValue", "Tag value exceeds the maximum length of 255 characters: '%s'", value)
		}
		if _, twice := tags[key]; twice {
			return nil, account.Fail("InvalidParameterValue", "Duplicate tag key '%s' specified.", key)
		}
		tags[key] = value
	}
	if len(tags) > account.MaxTags {
		return nil, account.Fail("TagLimitExceeded", "The maximum number of tags for a resource has been reached: %d", account.MaxTags)
	}
	return tags, nil
}

func boolText(b bool) []string { return []string{strconv.FormatBool(b)} }
