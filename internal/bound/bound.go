// Package bound proves what machines for given pods cost at least. It knows which
// offerings each pod may use, which pods keep apart on a node, how pods are shared among
// topology domains, the limits of Provisioners, and the nodes that exist.
//
// The proof is a linear program over patterns: a pattern is what one machine of an
// offering, or one node, may hold. Every plan is a solution of it in whole numbers, so
// that its least cost is below that of every plan. Patterns are generated as they are
// needed (see generation), and whatever prices of pods come up on the way prove a bound:
// scaled so that no pattern is worth more than it costs, all pods together are worth no
// more than any machines that hold them.
package bound

import (
	"math"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
)

// Problem is what is to be bought for, and what can be bought.
type Problem struct {
	Offerings []Offering
	// Choices are sets of offerings that classes may be on.
	Choices []bitset.Set
	Classes []Class
	// Groups are those of which a machine or node holds only so many pods.
	Groups   []ClassGroup
	Nodes    []Node
	Shares   []DomainShare
	Limits   []Limit
	Spending []Spending
	// Start are machines with their pods, as a plan has them.
	Start []Content
	// Price of a plan that is known, in micro-dollars per hour: a bound close to it is
	// enough.
	Price int64
	// Operations that the proof may take, of which a processor does roughly one in a
	// nanosecond.
	Operations int
}

// Offering is what can be bought, any number of times.
type Offering struct {
	Room     []int64 // by resource, without what DaemonSets take
	Price    int64   // above 0, in micro-dollars per hour
	Pool     int     // the Provisioner
	Tier     int     // 0 for Provisioners of the highest weight
	Capacity []int64 // by resource, what counts against limits
	Domains  []int   // by topology key
}

// Spending says that the machines of a tier and those of the tiers after it cost so much at most together.
type Spending struct {
	Tier  int
	Most  int64 // without what Funds add, in micro-dollars per hour
	Funds []Fund
}

// Fund says that each pod of a class on one of its offerings adds so much to what may be spent.
type Fund struct {
	Class, Choice int   // index of Problem.Classes, and of Problem.Choices
	Price         int64 // above 0, in micro-dollars per hour
}

// Class is a number of pods that are equal in all that placement asks.
type Class struct {
	Need   []int64 // by resource; at least one is above 0
	Count  int64   // at least 1
	Choice int     // index of Problem.Choices
	Most   int64   // of its pods on one machine
}

// ClassGroup is a set of classes of which a machine holds only so many pods in all.
type ClassGroup struct {
	Classes []int
	Most    int64
}

// Node exists: what is on it costs nothing.
type Node struct {
	Room    []int64
	Holds   []int64 // by class, how many of its pods it takes at most
	Groups  []int64 // by group, the same for all of its classes together
	Domains []int   // by topology key
}

// DomainShare says that at least so many pods of the classes are in a domain of a key.
type DomainShare struct {
	Key, Domain int
	Classes     []int
	Least       int64
}

// Limit says that the machines of a pool have so much capacity of a resource at most,
// and at least Least. A pool is used as far as its limit allows before what pools of
// lower weight sell may be used for its pods, which is where Least comes from.
type Limit struct {
	Pool, Resource int
	Most, Least    int64 // below 0: there is none
}

// Content is what one machine holds.
type Content struct {
	Offering int
	Parts    []Part
}

// Part is a number of pods of a class.
type Part struct {
	Class int
	N     int64
}

const (
	// near is the share of the price that a bound may be below it to be enough.
	near = 1e-3
	// MostClasses bounds the classes: the effort grows with their square.
	MostClasses = 400
)

// Price returns a price, in micro-dollars per hour, below which no machines hold all pods
// that the nodes have no room for; 0 where nothing is proven. Prices are whole numbers, so
// that what is proven may be rounded up. It also returns how many operations that took.
func Price(p *Problem) (price int64, spent int) {
	if len(p.Classes) == 0 {
		return 0, 0
	}
	offerings, spent := undominated(p)
	values, total := p.sums(offerings)
	if len(p.Classes) <= MostClasses && float64(p.Price) > total*(1+near) {
		g := newGeneration(p, offerings)
		g.effort -= spent
		total = max(total, g.run(values))
		spent = p.Operations - g.effort
	}
	return int64(math.Ceil(max(0, total))), spent
}
