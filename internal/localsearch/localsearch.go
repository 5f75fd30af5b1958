// Package localsearch searches for a cheaper set of machines for counted items: what is asked for,
// what is sold and a purchase in, a purchase out. It knows nothing of pods and nodes. What
// depends on who else is on a machine, apart from its room, is asked of Rules.
package localsearch

// Item is a number of equal items, each of which needs a place on one machine.
type Item struct {
	Need  []int64
	Count int64 // at least 1
	// Kind is the index in Problem.Kinds of the offerings that it may be on.
	Kind int
	// Value of one item: an estimate of what its place costs at least.
	Value float64
	// Price of a unit of each resource to items like this one.
	Price []float64
	// Tied says that Rules have to be asked whether it may be on a machine, and Ties what it has to do with how many
	// others, which is what they look at.
	Tied bool
	Ties int
}

// Offering is a machine that can be bought, or a node that exists.
type Offering struct {
	Room []int64
	Cost int64 // above 0
	// Node says that it is there already, once: it is part of every purchase, with or without
	// items on it, and nothing is paid for it. What is on it is worth no more than Cost.
	Node bool
	// Limit is the index in Problem.Limits of what it counts against, -1 for nothing.
	Limit int
	// Uses is how much of the limit it uses up, by resource.
	Uses []int64
}

// Problem is what to buy for, and from what.
type Problem struct {
	// Items are in the order in which they are bought for: what has the least choice
	// first, then what is large.
	Items     []Item
	Offerings []Offering
	// Kinds are sets of indices of Offerings.
	Kinds [][]int
	// Limits are what may be used up, before anything is bought.
	Limits [][]int64
	// Rules may be nil where no item is tied.
	Rules Rules
}

// Part is how many of an item are on a machine.
type Part struct {
	Item int
	N    int64
}

// Machine is one that is bought, with what is on it.
type Machine struct {
	Offering int
	Parts    []Part
}

// Rules know which tied items may be together on a machine, room apart. They are asked
// about one machine at a time.
type Rules interface {
	// Begin starts with an empty machine.
	Begin(offering int)
	// Admits returns how many items of the item may join, at most n.
	Admits(item int, n int64) int64
	// Add puts items that were admitted on the machine.
	Add(item int, n int64)
}
