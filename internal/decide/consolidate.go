package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Consolidation is what a decision says about nodes in use.
type Consolidation struct {
	// Steps are sorted by when they are due.
	Steps []Step
	// Stays are the nodes in no step, with what holds them, sorted by name.
	Stays []StayingNode
	// HourlyPrice is that of the nodes of Provisioners that consolidate.
	HourlyPrice offer.Price
	// Next is when something that is not due now becomes due; zero if nothing does.
	Next time.Time
}

// Step lets nodes go together.
type Step struct {
	Nodes []string
	// Moves is how many pods would be evicted, Machines how many would be bought.
	Moves, Machines int
	// Saving is what the bill falls by per hour; 0 where it does not, and the step only takes fewer nodes, or
	// cannot be carried out. Cost is that of the evictions. Both are in micro-dollars.
	Saving, Cost offer.Price
	Due          time.Time
	// Going: the nodes go now. Blocker and Why say what holds the step where not.
	Going   bool
	Blocker retire.Blocker
	Why     string
}

// StayingNode is a node in use that stays.
type StayingNode struct {
	Node    string
	Blocker retire.Blocker
	Why     string
	// Unused is the price per hour of its room that no pod requests. It is 0 where no
	// cheaper place for its pods was found, and no more than what such a place would save.
	Unused offer.Price
}

// consolidator lets nodes in use go where that makes the cluster cheaper.
type consolidator struct {
	*decision
	nodes    map[string]*retire.Node
	budgets  *retire.Budgets
	now      attempt
	out      *Consolidation
	busy     map[string]bool
	changed  map[string]time.Time
	packings int
	// going are the nodes of the steps that go, by step, and kept is what these steps save at least.
	going [][]string
	kept  offer.Price
}

// consolidateNodes plans for the nodes in use, and lets those go whose steps are due and
// allowed now. While machines are being bought for pods that wait, or in the place of other nodes, nothing is moved.
func (d *decision) consolidateNodes(nodes []*retire.Node, now attempt) ([]Removal, *Consolidation, attempt) {
	if d.in.NotConsolidated || !slices.ContainsFunc(nodes, consolidates) {
		return nil, nil, now
	}
	c := &consolidator{decision: d, nodes: map[string]*retire.Node{}, now: now, out: &Consolidation{}, busy: map[string]bool{}, changed: map[string]time.Time{}}
	for _, n := range nodes {
		c.nodes[n.Name] = n
	}
	c.budgets = retire.NewBudgets(nodes, d.in.Now, func(n *retire.Node) bool { return d.leaving[n.Name] })
	sources := c.sources(d.staying(nodes))
	if len(now.layout.Machines) > 0 {
		why := "machines are being bought " + now.purpose()
		for i := range sources {
			c.stay(sources[i].Node.Name, retire.Hold{Blocker: retire.BlockedQuiet, Why: why})
		}
		c.sort()
		return nil, c.out, now
	}
	d.idle = c.findIdle(nodes)
	problem := &consolidate.Problem{Base: *now.problem, Sources: sources, Busy: c.busy, Changed: c.changed}
	problem.Base.Leaving, problem.Base.Shut, problem.Base.Pods = d.leaving, d.shut(), nil
	for i, place := range now.layout.Places {
		if place.Node != "" {
			pod := now.problem.Pods[i]
			pod.Nodes = []string{place.Node}
			problem.Base.Pods = append(problem.Base.Pods, pod)
			d.hints[pod.Pod.PodKey] = place.Node // no step takes the room
		}
	}
	plan := consolidate.Solve(problem)
	for i := range sources {
		name := sources[i].Node.Name
		if why, ok := plan.Unpaid[name]; ok {
			hold := c.unpaid(why)
			c.stay(name, hold)
			if hold.Blocker == retire.BlockedSpot {
				c.out.Stays[len(c.out.Stays)-1].Unused = why.Forgone // at most; see estimate
			}
		}
	}
	c.take(plan.Steps)
	c.sort()
	return c.removals(), c.out, c.now
}

// purpose says what machines are bought for.
func (a attempt) purpose() string {
	for i := range a.layout.Machines {
		if slices.ContainsFunc(a.layout.Machines[i].Pods, func(pod int) bool { return a.problem.Pods[pod].From == "" }) {
			return "for pods that wait"
		}
	}
	return "in the place of other nodes"
}

// findIdle lists the nodes that nobody uses and that will go once they have been empty for long enough. While a budget
// lets none of them go, they stay, and their room costs nothing.
func (c *consolidator) findIdle(nodes []*retire.Node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		due := retire.DueNode{Node: n, Reason: retire.Empty}
		if _, goes := n.Provisioner.Spec.EmptyAfter(); goes && !n.InUse() && c.budgets.Together(due) > 0 && c.caseOf(due).Vetoed() == "" {
			out[n.Name] = true
		}
	}
	return out
}

// unpaid says why a node is in no step.
func (c *consolidator) unpaid(as consolidate.Unpaid) retire.Hold {
	at := as.Awaited
	switch {
	case at == "" && as.Forgone > 0:
		return retire.Hold{Blocker: retire.BlockedSpot, Why: as.Why}
	case at == "":
		return retire.Hold{Blocker: retire.BlockedUnpaid, Why: as.Why}
	case c.nodes[at] == nil || !c.nodes[at].HasBeenUp():
		return retire.Hold{Blocker: retire.BlockedUnpaid, Why: "node " + at + ", which has room for its pods, is not up yet"}
	}
	after, _ := c.nodes[at].Provisioner.Spec.ConsolidateAfter()
	return retire.Hold{Blocker: retire.BlockedQuiet, Why: fmt.Sprintf("pods came to node %s, which has room for its pods, or left it less than %s ago", at, amount.ShortDuration(after))}
}

func consolidates(n *retire.Node) bool { return n.Provisioner.Spec.MovesPods() }

// sources lists the nodes that may go, and notes why the others stay.
func (c *consolidator) sources(nodes []*retire.Node) []consolidate.Source {
	var out []consolidate.Source
	costs := c.evictionCosts()
	for i := range c.in.Snapshot.Nodes {
		n := &c.in.Snapshot.Nodes[i]
		c.busy[n.Name] = !n.HasBeenUp()
	}
	for _, n := range nodes {
		last := n.LastChange()
		if seen := c.in.Disturbed[n.Name]; seen.After(last) {
			last = seen
		}
		c.changed[n.Name] = last
		if after, on := n.Provisioner.Spec.ConsolidateAfter(); on && c.in.Now.Before(last.Add(after)) {
			c.busy[n.Name] = true
			c.wakeAt(last.Add(after))
		}
		price := c.priceOf(n)
		if consolidates(n) {
			c.out.HourlyPrice += price
		}
		due := c.dueNode(n.Name)
		hold := c.caseOf(due).Unmovable(last)
		if hold.Why == "" && price == 0 {
			hold = retire.Hold{Blocker: retire.BlockedProtection, Why: "its price is not known"}
		}
		moved := costs.moves(n)
		if hold.Why == "" && len(moved) == 0 && n.InUse() { // without them, not the same pods would run for less
			hold = retire.Hold{Blocker: retire.BlockedProtection, Why: "no controller would create any of its pods again on another node"}
		}
		switch {
		case hold.Blocker == retire.BlockedOff || !n.InUse():
		case hold.Why != "":
			c.stay(n.Name, hold)
		default:
			out = append(out, consolidate.Source{Node: n.Node, Price: price, Cost: c.costOf(n), Moves: moved, LastArrival: n.LastArrival(), Together: c.budgets.Together(due), Unreplaced: c.in.Unreplaced[n.Name]})
		}
	}
	return out
}

func (c *consolidator) stay(node string, hold retire.Hold) {
	c.out.Stays = append(c.out.Stays, StayingNode{Node: node, Blocker: hold.Blocker, Why: hold.Why})
}

// wakeAt notes when something is due.
func (c *consolidator) wakeAt(at time.Time) {
	if at.After(c.in.Now) && (c.out.Next.IsZero() || at.Before(c.out.Next)) {
		c.out.Next = at
	}
}

func (c *consolidator) sort() {
	slices.SortFunc(c.out.Stays, func(a, b StayingNode) int { return strings.Compare(a.Node, b.Node) })
}

// costOf is what is saved when a node goes, as model.Offering.Cost is what is paid when a machine comes: both change together,
// and billed says what of it is on the bill.
func (d *decision) costOf(n *retire.Node) offer.Price {
	return d.priceOf(n) + d.in.Settings.nodeCost()
}

func (d *decision) priceOf(n *retire.Node) offer.Price { return PriceOf(n.Node, d.in.Provisioners) }

// PriceOf is what a node costs now, as its Provisioner would pay for it, or what it cost when it was
// bought if no market sells it any more; 0 where nobody knows.
func PriceOf(n *cluster.Node, provisioners []Provisioner) offer.Price {
	if its := typeOf(n, provisioners); its != nil {
		if o := its.OfferingIn(n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]); o != nil && o.Price > 0 {
			return o.Price
		}
	}
	return offer.PriceOf(n.Annotations)
}
