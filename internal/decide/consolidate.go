package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Consolidation is what a decision says of nodes in use.
type Consolidation struct {
	// Steps are sorted by when they are due.
	Steps []Step
	// Stays are the nodes in no step, with what holds them, sorted by name.
	Stays []StayingNode
	// HourlyPrice is that of the nodes of Provisioners that consolidate.
	HourlyPrice offer.Price
	// Next is when something is due that is not now; zero where nothing is.
	Next time.Time
}

// Step lets nodes go together.
type Step struct {
	Nodes []string
	// Moves is how many pods would be evicted, Machines how many would be bought.
	Moves, Machines int
	// Saving per hour; Cost of the evictions, in micro-dollars.
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
	// cheaper place for its pods was found.
	Unused offer.Price
}

// MovedRest is for how long a pod that was moved costs more to be moved again.
const MovedRest = time.Hour

// maxStepPackings bounds the packings by which steps are verified in a turn.
const maxStepPackings = 8

// consolidator lets nodes in use go where that makes the cluster cheaper.
type consolidator struct {
	*turn
	nodes    map[string]*retire.Node
	budgets  *retire.Budgets
	now      attempt
	out      *Consolidation
	busy     map[string]bool
	changed  map[string]time.Time
	packings int
	// saving and cost are those of the steps that go, and of their nodes.
	saving, cost offer.Price
	spot         bool
	going        []string
}

// consolidate plans for the nodes in use, and lets those go whose steps are due and
// allowed now. While machines are being bought for pods that wait, nothing is moved.
func (t *turn) consolidate(nodes []*retire.Node, now attempt) ([]Removal, *Consolidation, attempt) {
	if t.in.NotConsolidated || !slices.ContainsFunc(nodes, consolidates) {
		return nil, nil, now
	}
	c := &consolidator{turn: t, nodes: map[string]*retire.Node{}, now: now, out: &Consolidation{}, busy: map[string]bool{}, changed: map[string]time.Time{}}
	for _, n := range nodes {
		c.nodes[n.Name] = n
	}
	c.budgets = retire.NewBudgets(nodes, t.in.Now, func(n *retire.Node) bool { return t.leaving[n.Name] })
	sources := c.sources(t.staying(nodes))
	if len(now.layout.Machines) > 0 {
		for i := range sources {
			c.stay(sources[i].Node.Name, retire.Hold{Blocker: retire.BlockedQuiet, Why: "machines are being bought for pods that wait"})
		}
		c.sort()
		return nil, c.out, now
	}
	problem := &consolidate.Problem{Base: *now.problem, Sources: sources, Busy: c.busy, Changed: c.changed}
	problem.Base.Leaving, problem.Base.Pods = t.leaving, nil
	for i, place := range now.layout.Places {
		if place.Node != "" {
			problem.Base.Pods = append(problem.Base.Pods, now.problem.Pods[i])
		}
	}
	plan := consolidate.Solve(problem)
	for i := range sources {
		if name := sources[i].Node.Name; plan.Unpaid[name] != "" {
			c.stay(name, retire.Hold{Blocker: retire.BlockedUnpaid, Why: plan.Unpaid[name]})
		}
	}
	c.take(plan.Steps)
	c.sort()
	return c.removals(), c.out, c.now
}

func consolidates(n *retire.Node) bool { return n.Provisioner.Spec.MovesPods() }

// sources lists the nodes that may go, and notes why the others stay.
func (c *consolidator) sources(nodes []*retire.Node) []consolidate.Source {
	var out []consolidate.Source
	costs := c.evictionCosts()
	for i := range c.in.Snapshot.Nodes {
		n := &c.in.Snapshot.Nodes[i]
		c.busy[n.Name] = n.Provisioner != "" && !n.Initialized
	}
	for _, n := range nodes {
		last := n.LastChange()
		if seen := c.in.Disturbed[n.Name]; seen.After(last) {
			last = seen
		}
		c.changed[n.Name] = last
		if after, on := n.Provisioner.Spec.ConsolidateAfter(); on && c.in.Now.Before(last.Add(after)) {
			c.busy[n.Name] = true
			c.next(last.Add(after))
		}
		price := c.priceOf(n)
		if consolidates(n) {
			c.out.HourlyPrice += price
		}
		due := c.due(n.Name)
		hold := c.caseOf(due).Source(last)
		if hold.Why == "" && price == 0 {
			hold = retire.Hold{Blocker: retire.BlockedProtection, Why: "its price is not known"}
		}
		switch {
		case hold.Blocker == retire.BlockedOff || !n.InUse():
		case hold.Why != "":
			c.stay(n.Name, hold)
		default:
			out = append(out, consolidate.Source{Node: n.Node, Price: price, Cost: price + c.in.Settings.nodeCost(), Moves: costs.moves(n), Settled: n.Settled(), Together: c.budgets.Together(due)})
		}
	}
	return out
}

func (c *consolidator) stay(node string, hold retire.Hold) {
	c.out.Stays = append(c.out.Stays, StayingNode{Node: node, Blocker: hold.Blocker, Why: hold.Why})
}

func (c *consolidator) next(at time.Time) {
	if at.After(c.in.Now) && (c.out.Next.IsZero() || at.Before(c.out.Next)) {
		c.out.Next = at
	}
}

func (c *consolidator) sort() {
	slices.SortFunc(c.out.Stays, func(a, b StayingNode) int { return strings.Compare(a.Node, b.Node) })
}

// priceOf is what a node costs now, as its Provisioner would pay for it; 0 where nobody
// knows.
func (t *turn) priceOf(n *retire.Node) offer.Price {
	its := typeOf(n.Node, t.in.Provisioners)
	if its == nil {
		return 0
	}
	if o := its.OfferingIn(n.Labels[api.LabelZone], n.Labels[api.LabelCapacityType]); o != nil {
		return o.Price
	}
	return 0
}

// take lets the steps go that are due, as far as budgets allow. What those of them that cannot be carried
// out leave of the budgets is for the next ones.
func (c *consolidator) take(steps []consolidate.Step) {
	var waiting []int
	for i := range steps {
		st := &steps[i]
		shown := Step{Nodes: st.Nodes, Moves: len(st.Places), Machines: len(st.Machines), Saving: st.Saving, Cost: st.Cost, Due: st.Due}
		if st.Due.After(c.in.Now) {
			shown.Blocker, shown.Why = retire.BlockedUnpaid, "it has not wasted enough yet to pay for the moves"
			c.next(st.Due)
		} else {
			waiting = append(waiting, i)
		}
		c.out.Steps = append(c.out.Steps, shown)
	}
	for len(waiting) > 0 && !c.spent() {
		empty, bought, rest := c.permitted(steps, waiting)
		if len(rest) == len(waiting) {
			break
		}
		c.try(steps, empty)
		for _, i := range bought {
			c.try(steps, []int{i})
		}
		waiting = rest
	}
	for _, i := range waiting {
		c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedBudget, "a disruption budget allows no more now"
		if c.takeAll(steps[i].Nodes) {
			c.giveBack(steps[i].Nodes)
			c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedUnpaid, notTried
		}
	}
}

// permitted takes steps from the budgets: those that need no machines, which are tried all together, and the
// others, which are tried one by one. The rest is what the budgets do not allow beside them.
func (c *consolidator) permitted(steps []consolidate.Step, waiting []int) (empty, bought, rest []int) {
	for _, i := range waiting {
		switch {
		case !c.takeAll(steps[i].Nodes):
			rest = append(rest, i)
		case len(steps[i].Machines) == 0:
			empty = append(empty, i)
		default:
			bought = append(bought, i)
		}
	}
	return empty, bought, rest
}

// spent reports whether as many steps have been tried as may be in a turn.
func (c *consolidator) spent() bool { return c.packings >= maxStepPackings || c.effort > maxEffort }

// notTried is why a step that budgets allow does not go once as many as may be have been tried.
const notTried = "other steps are taken first"

// takeAll takes all of the nodes from the budgets, or none.
func (c *consolidator) takeAll(nodes []string) bool {
	for i, name := range nodes {
		if !c.budgets.Take(c.due(name)) {
			c.giveBack(nodes[:i])
			return false
		}
	}
	return true
}

func (c *consolidator) giveBack(nodes []string) {
	for _, name := range nodes {
		c.budgets.Return(c.due(name))
	}
}

func (c *consolidator) due(name string) retire.DueNode {
	return retire.DueNode{Node: c.nodes[name], Reason: retire.Consolidated}
}

// try verifies steps against everything that there is, and takes them if they hold. If
// not, it tries their halves.
func (c *consolidator) try(steps []consolidate.Step, these []int) {
	if len(these) == 0 {
		return
	}
	why := notTried
	if !c.spent() {
		c.packings++
		if why = c.verified(steps, these); why == "" {
			for _, i := range these {
				c.out.Steps[i].Going = true
			}
			return
		}
		if len(these) > 1 {
			c.try(steps, these[:len(these)/2])
			c.try(steps, these[len(these)/2:])
			return
		}
	}
	for _, i := range these {
		c.giveBack(steps[i].Nodes)
		c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedUnpaid, why
	}
}

// verified packs as if the nodes of the steps were leaving, with all pods and
// constraints of the cluster. It returns why that does not do, and takes the packing over
// where it does.
func (c *consolidator) verified(steps []consolidate.Step, these []int) string {
	var nodes []string
	saving, cost, spot := c.saving, c.cost, c.spot
	for _, i := range these {
		st := &steps[i]
		nodes = append(nodes, st.Nodes...)
		saving += st.Saving
		for _, name := range st.Nodes {
			cost += c.priceOf(c.nodes[name]) + c.in.Settings.nodeCost()
			spot = spot || c.nodes[name].Labels[api.LabelCapacityType] == api.CapacitySpot
		}
		for _, at := range st.Places {
			if at.Node != "" {
				c.hints[at.Pod] = at.Node
			}
		}
	}
	for _, name := range nodes {
		c.leaving[name] = true
	}
	next := c.pack()
	bound := consolidate.Bind(next.layout.Machines, cost, spot)
	why := c.fault(next, steps, these)
	if kept, ok := bound.Saving(); why == "" && (!ok || kept < saving/2) {
		why = "what would have to be bought costs too much"
	}
	if why != "" {
		for _, name := range nodes {
			delete(c.leaving, name)
		}
		return why
	}
	next.layout.Machines = bound.Machines
	c.now, c.saving, c.cost, c.spot = next, saving, cost, spot
	c.going = append(c.going, nodes...)
	return ""
}

// fault says which pod has no place as it should; empty where all have.
func (c *consolidator) fault(next attempt, steps []consolidate.Step, these []int) string {
	deleted := map[string]bool{} // without a machine in their place
	going := slices.Clone(c.going)
	for _, i := range these {
		going = append(going, steps[i].Nodes...)
		if len(steps[i].Machines) == 0 {
			for _, name := range steps[i].Nodes {
				deleted[name] = true
			}
		}
	}
	for i, place := range next.layout.Places {
		d := &next.problem.Pods[i]
		switch {
		case d.From == "" || !slices.Contains(going, d.From): // a pod of a node that leaves for another reason may wait
		case !place.Placed():
			return "pod " + d.Pod.String() + " would have no other place: " + place.Reason
		case deleted[d.From] && (place.Machine >= 0 && place.Node == "" || c.busy[place.Node]):
			return "pod " + d.Pod.String() + " would have no place on the nodes that stay"
		}
	}
	if unplaced(next) > unplaced(c.now) {
		return "pods that wait for a place need it"
	}
	return ""
}

func (c *consolidator) removals() []Removal {
	var out []Removal
	for i := range c.out.Steps {
		st := &c.out.Steps[i]
		if !st.Going {
			continue
		}
		for _, name := range st.Nodes {
			out = append(out, Removal{Node: name, Reason: Consolidated, Message: st.words(), Saving: st.Saving / offer.Price(len(st.Nodes))})
		}
	}
	return out
}

// words say why the nodes of a step go.
func (s *Step) words() string {
	whose, on := fmt.Sprintf("its %d pods fit", s.Moves), "on other nodes"
	switch {
	case len(s.Nodes) > 1:
		whose = fmt.Sprintf("the %d pods of %s fit", s.Moves, strings.Join(s.Nodes, ", "))
	case s.Moves == 1:
		whose = "its pod fits"
	}
	switch {
	case s.Machines == 1:
		on = "on a cheaper machine"
	case s.Machines > 1:
		on = fmt.Sprintf("on %d cheaper machines", s.Machines)
	}
	return fmt.Sprintf("%s %s, which saves $%.4f per hour", whose, on, s.Saving.Dollars())
}

// evictionCosts knows what it costs to move pods.
type evictionCosts struct {
	rates    *consolidate.Rates
	replicas map[string]int // that run, by the owner's UID
	pods     map[*cluster.Template]offer.Price
	moved    map[string]time.Time // as Input.Moved
	now      time.Time
}

func (c *consolidator) evictionCosts() *evictionCosts {
	out := &evictionCosts{replicas: map[string]int{}, pods: map[*cluster.Template]offer.Price{}, moved: c.in.Moved, now: c.in.Now}
	out.rates = c.rates()
	for _, p := range c.onNodes {
		if p.State == cluster.PodBound && p.Owner.UID != "" {
			out.replicas[p.Owner.UID]++
		}
	}
	return out
}

// rates are what resources cost for all pods on nodes.
func (t *turn) rates() *consolidate.Rates {
	if t.priced == nil {
		rates := consolidate.NewRates(t.packProvisioners(), consolidate.Demand(t.in.Snapshot))
		t.priced = &rates
	}
	return t.priced
}

// moves lists the pods of a node that would come back elsewhere, with their costs.
func (e *evictionCosts) moves(n *retire.Node) []consolidate.Move {
	factor, _ := n.Provisioner.Spec.EvictionCost()
	factor *= lifetimeLeft(n, e.now)
	var out []consolidate.Move
	for _, p := range n.Pods {
		if !moves(p) {
			continue
		}
		value, ok := e.pods[p.Template]
		if !ok {
			value = e.rates.Value(p.Template.Requests)
			e.pods[p.Template] = value
		}
		at, moved := e.moved[p.UID]
		weight := consolidate.Weight(p, e.replicas[p.Owner.UID], moved && e.now.Before(at.Add(MovedRest)))
		out = append(out, consolidate.Move{Pod: p, Cost: offer.Price(float64(value) * factor * weight)})
	}
	return out
}

// lifetimeLeft is the part of its lifetime that a node still has: pods of one that
// expires soon are moved soon anyway.
func lifetimeLeft(n *retire.Node, now time.Time) float64 {
	ttl := n.Provisioner.Spec.TTLSecondsUntilExpired
	if ttl == nil || *ttl <= 0 {
		return 1
	}
	whole := time.Duration(*ttl) * time.Second
	return min(1, max(0, float64(whole-now.Sub(n.Created))/float64(whole)))
}
