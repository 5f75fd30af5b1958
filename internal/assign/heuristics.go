package assign

// Heuristic is a step of planning that only makes plans cheaper or planning quicker.
// Without it every plan still keeps all rules. `make ablation` leaves one out at a time
// and measures what it is worth; what is worth nothing does not stay.
type Heuristic string

// The heuristics.
const (
	// EvenNodes fills existing nodes so that no resource is left over for want of another.
	EvenNodes Heuristic = "even-nodes"
	// HeldNodes chooses together what existing nodes and machines hold, and exchanges pods
	// between them.
	HeldNodes Heuristic = "held-nodes"
	// Balance fills machines by the direction of what is left of them, not by size alone.
	Balance Heuristic = "balance"
	// Exchange replaces pods on a filled machine by others that are worth more.
	Exchange Heuristic = "exchange"
	// Patterns solves the linear program over the contents of machines, and rounds it.
	Patterns Heuristic = "patterns"
	// Turns goes on with the program and the search in turns where there was no time to solve
	// the program.
	Turns Heuristic = "turns"
	// Search ruins and recreates parts of the purchase.
	Search Heuristic = "search"
	// Prune leaves out offerings that are nearly as large as others.
	Prune Heuristic = "prune"
	// Equal buys for pods that are all alike at the least cost.
	Equal Heuristic = "equal"
	// Rough buys for very many pod groups as if those that need the same were one.
	Rough Heuristic = "rough"
	// Slots makes places for pods that must be apart a resource.
	Slots Heuristic = "slots"
	// Zones places few pods again with other zones preferred.
	Zones Heuristic = "zones"
	// LowestFirst buys from the Provisioners of the lowest weight first, so that the room that
	// they leave is used.
	LowestFirst Heuristic = "lowest-first"
	// Guests buys machines of special types before others, so that the room that they leave is
	// used.
	Guests Heuristic = "guests"
	// Shares divides the pods that are spread and that limits leave over evenly.
	Shares Heuristic = "shares"
	// BalancedZones moves machines between zones of equal price.
	BalancedZones Heuristic = "balanced-zones"
)

// Heuristics lists all of them.
func Heuristics() []Heuristic {
	return []Heuristic{
		EvenNodes, HeldNodes, Balance, Exchange, Patterns, Turns, Search,
		Prune, Equal, Rough, Slots, Zones, LowestFirst, Guests, Shares, BalancedZones,
	}
}
