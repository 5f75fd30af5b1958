// Package status holds what the agent shows about a cluster: its nodes and why they were bought, waiting pods, planned
// removals, offerings that cannot be bought, and the price compared with the lower bound. It is served as JSON, as a
// page and, by `packhorse-agent top`, as text.
package status

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Status is a cluster after a turn of its agent. Prices are in dollars per hour.
// Every list is in a fixed order.
type Status struct {
	// Version of the agent, and the name of the cluster.
	Version string `json:"version"`
	Cluster string `json:"cluster"`
	// Leading: this agent acts. One that stands by knows nothing else.
	Leading bool `json:"leading"`
	// At is when the turn ended; zero before the first.
	At time.Time `json:"at,omitzero"`

	HourlyPrice float64 `json:"hourlyPrice"`
	// Bound is nil where it is not known.
	Bound *Bound `json:"bound,omitempty"`

	Provisioners []Provisioner `json:"provisioners"`
	Nodes        []Node        `json:"nodes"`
	Pending      []Pending     `json:"pending"`
	Leaving      []Leaving     `json:"leaving"`
	// Consolidation is nil where no Provisioner consolidates nodes in use, or the last look at them failed.
	Consolidation       *Consolidation `json:"consolidation,omitempty"`
	ConsolidationFailed bool           `json:"consolidationFailed,omitempty"`
	Unavailable         []Offering     `json:"unavailable"`
	// Recent is what happened to nodes and Provisioners, newest first.
	Recent []Event `json:"recent"`
}

// Bound is what the pods of the nodes, and those that wait, would cost if no node
// were there.
type Bound struct {
	// HourlyPrice is proven: no nodes for the same pods cost less at present prices.
	HourlyPrice float64 `json:"hourlyPrice"`
	// Rebought is the price of what would be bought for the same pods now.
	Rebought float64 `json:"rebought"`
	// Pods that it is for; Unplaced could not be placed on anything that is sold now
	// and are left out.
	Pods     int `json:"pods"`
	Unplaced int `json:"unplaced"`
	// At is when it was found.
	At time.Time `json:"at"`
}

// Provisioner is one that nodes are bought with.
type Provisioner struct {
	Name string `json:"name"`
	// Ready: nodes can be bought with it. Otherwise Reason is that of its condition,
	// and Message says what to do.
	Ready       bool    `json:"ready"`
	Reason      string  `json:"reason"`
	Message     string  `json:"message"`
	Nodes       int     `json:"nodes"`
	HourlyPrice float64 `json:"hourlyPrice"`
	// Doubtful is how many machines purchases that failed may have bought. They count for
	// limits alone.
	Doubtful int     `json:"doubtful,omitempty"`
	Limits   []Limit `json:"limits,omitempty"`
}

// Doubt describes what failed purchases may have bought. It is empty if there is no doubt.
func (p *Provisioner) Doubt() string {
	if p.Doubtful == 0 {
		return ""
	}
	return fmt.Sprintf("Purchases that failed may have bought %s. Limits count them until AWS has had time to list them", explain.Plural(p.Doubtful, "machine"))
}

// Limit is how much of a resource the nodes of a Provisioner have and may have, as
// Kubernetes quantities.
type Limit struct {
	Resource string  `json:"resource"`
	Used     string  `json:"used"`
	Limit    string  `json:"limit"`
	Share    float64 `json:"share"` // from 0 to 1
}

// Words is the limit for people, who compare amounts more easily in one unit than as the quantities were written.
func (l Limit) Words(of string) string {
	return fmt.Sprintf("%s %s %s %s", l.text(l.Used), of, l.text(l.Limit), l.Resource)
}

func (l Limit) text(quantity string) string {
	q, err := resource.ParseQuantity(quantity)
	if err != nil {
		return quantity
	}
	name := corev1.ResourceName(l.Resource)
	return amount.Text(l.Resource, amount.FromResourceList(corev1.ResourceList{name: q})[l.Resource])
}

// Node is a node that belongs to a Provisioner.
type Node struct {
	explain.Content
	Created time.Time `json:"created"`
	// Why it was bought; empty where that was not written down.
	Why string `json:"why,omitempty"`
}

// Pending is pods that wait for a node for the same reason.
type Pending struct {
	// Why says why no node can be bought, or which node they wait for.
	Why string `json:"why"`
	// Stuck: nothing will happen unless something changes.
	Stuck bool `json:"stuck"`
	Count int  `json:"count"`
	// Pods names the first of them.
	Pods []string `json:"pods"`
	// Since is when the first of them was created.
	Since time.Time `json:"since,omitzero"`
}

// MaxPods is how many pods an item of Pending names.
const MaxPods = 50

// Leaving is a node that goes, or will go at a time that is known.
type Leaving struct {
	Node string `json:"node"`
	// What happens, in words.
	What string `json:"what"`
	// At is when it begins; zero where it has begun, or waits for something.
	At time.Time `json:"at,omitzero"`
	// Blocked: something that a person may want to look at keeps it from going.
	Blocked bool `json:"blocked"`
}

// ConsolidationFailure is what is said in the place of a Consolidation where the last look at nodes in use failed.
func (*Status) ConsolidationFailure() string {
	return "The last look at nodes in use failed because of a bug in the agent, which its log names. The agent looks again after ten minutes."
}

// Consolidation says of nodes in use why they stay, and what could be saved.
type Consolidation struct {
	explain.Consolidation
	// At is when they were last looked at: at most five minutes ago where nothing has changed.
	At time.Time `json:"at"`
}

// Offering is one that is not bought for now.
type Offering struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	Why          string `json:"why"`
	// Provisioners that would buy it.
	Provisioners []string `json:"provisioners"`
}

// Event is something that happened, in the words of the Kubernetes event.
type Event struct {
	At      time.Time `json:"at"`
	Warning bool      `json:"warning"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
}
