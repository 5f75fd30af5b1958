package assign

// Heuristic is a step of planning that makes plans cheaper, planning quicker, or places more
// pods within limits. Without it every plan still keeps all rules. `make ablation` leaves one
// out at a time and measures what it is worth, and docs/worlds.md has the figures; what is
// worth nothing does not stay.
type Heuristic string

// The heuristics, with what the rows of the benchmark and random worlds cost more without each
// of them. Where another test is named, that one fails without it; TestHeuristicsPay of
// internal/pack does for most.
const (
	// EvenNodes fills existing nodes so that no resource is left over for want of another:
	// 2.6 % on fleet-100000, which has too many nodes for HeldNodes, and 172 pods in 200 worlds lose
	// their places without it.
	EvenNodes Heuristic = "even-nodes"
	// HeldNodes chooses together what existing nodes and machines hold, and exchanges pods
	// between them: 0.5 % of 62 worlds with nodes.
	HeldNodes Heuristic = "held-nodes"
	// Balance fills machines by the direction of what is left of them, not by size alone: 0.24 %
	// of all, 2.0 % at most.
	Balance Heuristic = "balance"
	// Exchange replaces pods on a filled machine by others that are worth more: 0.17 % of all,
	// 2.6 % at most.
	Exchange Heuristic = "exchange"
	// Patterns solves the linear program over the contents of machines, and rounds it: 3.6 % of
	// all.
	Patterns Heuristic = "patterns"
	// Turns goes on with the program and the search in turns where there was no time to solve
	// the program: 1.0 % of 65 large worlds.
	Turns Heuristic = "turns"
	// Search ruins and recreates parts of the purchase: 15 % where pods select families.
	Search Heuristic = "search"
	// Prune leaves out offerings that are nearly as large as others: without it, plans take 1.5
	// times the processor time.
	Prune Heuristic = "prune"
	// Equal buys for pods that are all alike at the least cost, with room for pods to come, which
	// TestEqualBuysAhead holds: 1.1 times the processor time.
	Equal Heuristic = "equal"
	// Rough buys for very many pod groups as if those that need the same were one: 2.6 to 4.9 %
	// where there are 10,000 pods and more of many kinds.
	Rough Heuristic = "rough"
	// Slots makes places for pods that must be apart a resource: 25 % where many pods must be
	// apart.
	Slots Heuristic = "slots"
	// Zones places few pods again with other zones preferred: 1.1 % of tiny worlds.
	Zones Heuristic = "zones"
	// LowestFirst buys from the Provisioners of the lowest weight first, so that others use the
	// room that they leave: 0.4 % of 63 worlds with weights, 12 % at most.
	LowestFirst Heuristic = "lowest-first"
	// Guests buys machines of special types before others, so that others use the room that they
	// leave: 1.7 % of all, 23 % at most.
	Guests Heuristic = "guests"
	// Shares places only some of the pods at first where limits or spreads leave pods over, so that
	// machines suit those that have a place: 1 to 12 more pods have places in 4 of 121 worlds.
	// TestSpreadPodsUnderALimit, TestPrioritiesShareMachinesUnderALimit and
	// TestRefusedPodsChangeNothingForOthers hold it.
	Shares Heuristic = "shares"
	// BalancedZones moves machines between zones of equal price, so that a zone that fails takes
	// few pods of a workload with it: TestZonesAreBalanced and TestZonesCountWhatIsThere hold it.
	BalancedZones Heuristic = "balanced-zones"
	// Gather places pods again that even out their spreads only as far as they must: 8 % of 32
	// clusters with spreads.
	Gather Heuristic = "gather"
)

// Heuristics lists all of them.
func Heuristics() []Heuristic {
	return []Heuristic{
		EvenNodes, HeldNodes, Balance, Exchange, Patterns, Turns, Search,
		Prune, Equal, Rough, Slots, Zones, LowestFirst, Guests, Shares, BalancedZones, Gather,
	}
}
