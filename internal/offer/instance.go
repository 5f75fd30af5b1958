package offer

import (
	"errors"
	"time"
)

// Order asks a cloud for Count identical machines. A cloud may serve an order in part.
type Order struct {
	// LaunchID makes the order idempotent and is put on the instances as a tag.
	LaunchID    string
	Provisioner string
	Count       int
	// Candidates are ranked, best first. Among those of the capacity type and the reservation of the first, a
	// cloud chooses by itself: EC2 goes by the price, not by their order. So what should not be bought for its
	// low price is no candidate.
	Candidates []Candidate
	// Needed are those of the candidates that minValues need: no machine is bought unless any of them
	// can be.
	Needed []Candidate
	// Node is what the kubelet registers with. It is part of the machine's user data.
	Node NodeSpec
	// Tags beyond those that mark ownership.
	Tags map[string]string
}

// Candidate names one offering that may serve an order.
type Candidate struct {
	InstanceType string
	Zone         string
	CapacityType string
	Reservation  string // id of the capacity reservation; empty for none
	Price        Price
}

// Instance is a machine as the cloud reports it.
type Instance struct {
	ID           string
	ProviderID   string // as in the Node's spec.providerID
	NodeName     string // the name under which its kubelet will register
	LaunchID     string
	Provisioner  string
	InstanceType string
	Zone         string
	CapacityType string
	Reservation  string // id of the capacity reservation that it was launched into; empty for none
	ImageID      string
	State        InstanceState
	StateReason  string // why it is in this state, if the cloud says so
	LaunchedAt   time.Time
	Tags         map[string]string
	// Owned: it has the tags by which the cluster's instances are found.
	Owned bool
	// SubnetID and SecurityGroupIDs are what drift detection compares by value.
	SubnetID         string
	SecurityGroupIDs []string
	// Profile is the name of its instance profile, which gives it its role.
	Profile string
}

// Runs reports whether the machine runs, or is about to.
func (i *Instance) Runs() bool { return i.State == StatePending || i.State == StateRunning }

// ListingLag is how long a new instance may be missing in a cloud's listing.
const ListingLag = time.Minute

// InstanceState is where an instance is in its life.
type InstanceState string

// The states of an instance.
const (
	StatePending  InstanceState = "pending"
	StateRunning  InstanceState = "running"
	StateStopping InstanceState = "stopping" // stopping or shutting down, so that pods may still run there
	StateStopped  InstanceState = "stopped"  // nothing runs there until somebody starts it again
	StateGone     InstanceState = "gone"     // terminated or unknown to the cloud
)

// Refusal says why a candidate could not be bought.
type Refusal struct {
	Candidate Candidate
	Reason    RefusalReason
	Message   string // the cloud's own words
}

// RefusalReason sorts a cloud's launch errors by what to do about them.
type RefusalReason string

// The reasons of a Refusal.
const (
	RefusedCapacity     RefusalReason = "InsufficientCapacity" // this offering has none now
	RefusedUnsupported  RefusalReason = "Unsupported"          // this offering cannot be had here
	RefusedQuota        RefusalReason = "QuotaExceeded"        // the account's limit for the capacity type
	RefusedAddresses    RefusalReason = "InsufficientAddresses"
	RefusedUnauthorized RefusalReason = "Unauthorized"
	RefusedEnded        RefusalReason = "Ended" // it was bought, and its machine ended at once
	RefusedOther        RefusalReason = "Refused"
)

// Delivery is the result of an Order.
type Delivery struct {
	Instances []Instance // at most Count
	Refusals  []Refusal
}

// permanent is the failure of an order that bought nothing.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks the failure of an order that bought nothing and would fail again if it
// were repeated at once: something must change first.
func Permanent(err error) error { return permanent{err} }

// IsPermanent reports whether an order need not be repeated to know its result.
func IsPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p)
}

// unsent is the failure of an order whose requests for machines have all been answered.
type unsent struct{ error }

func (u unsent) Unwrap() error { return u.error }

// Unsent marks the failure of an order while no request for machines was without an answer, such as before the first one: the
// order bought nothing but what is delivered. It may be repeated.
func Unsent(err error) error { return unsent{err} }

// IsUnsent reports whether it is known what an order bought although it failed.
func IsUnsent(err error) bool {
	var u unsent
	return errors.As(err, &u)
}
