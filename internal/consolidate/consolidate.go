// Package consolidate plans how the whole cluster becomes cheaper with few moves: which
// nodes may go, where their pods go, and what is bought instead. The plan is cut into
// steps of which each pays by itself, in an order in which every pod always has a place.
// It is pure: the same problem gives the same plan, byte for byte.
package consolidate

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// Problem is a cluster and what of it may change.
type Problem struct {
	// Base is the packing of the cluster as it is now. Its Pods are those that wait for a place and have
	// one on a node which exists: the first of their Nodes. Its Leaving nodes are being removed already.
	Base pack.Problem
	// Sources may go, sorted by name.
	Sources []Source
	// Busy nodes, by name, take no pods of nodes that go: pods came or went there a short
	// while ago, or they are not up yet.
	Busy map[string]bool
	// Changed is, by name of the node, when a pod was last seen to come there or to leave.
	Changed map[string]time.Time
}

// Source is a node that may go.
type Source struct {
	Node  *cluster.Node
	Price offer.Price
	// Cost is what is saved when it goes: the price, and what a node costs beyond its price.
	Cost offer.Price
	// Moves are the pods that would come back elsewhere, in the order of the snapshot.
	Moves []Move
	// LastArrival is when something last came to the node that stays there.
	LastArrival time.Time
	// Together is how many nodes its disruption budgets let go at once while no other one goes.
	Together int
	// Unreplaced is why no machine is bought in its place now; empty if machines may be bought.
	Unreplaced string
}

// Move is a pod with what it costs to evict it, in micro-dollars. The fractions order pods whose deletion costs or
// priorities differ by little.
type Move struct {
	Pod  *cluster.Pod
	Cost float64
}

// Plan is how the cluster would become cheaper.
type Plan struct {
	// Steps are sorted by when they are due, and those that save the most for each node first.
	Steps []Step
	// Unpaid are the sources in no step, by node.
	Unpaid map[string]Unpaid
}

// Unpaid says why a source is in no step.
type Unpaid struct {
	Why string
	// Awaited is the busy node that has room which its pods need, if there is one.
	Awaited string
	// Forgone is what a spot machine in its place would save, which is not bought because too few types could serve;
	// 0 where something else keeps the node.
	Forgone offer.Price
}

// Step lets nodes go together. Its pods have places on nodes that stay in the whole
// plan, and on machines of its own, so that steps may be taken in any order.
type Step struct {
	// Nodes that go, sorted by name.
	Nodes []string
	// Places are where the pods were found room, in the order of Nodes and their pods.
	// Node is empty where it is one of the Machines.
	Places   []Place
	Machines []pack.Machine
	// Saving per hour, whatever of the machines' candidates is bought, and with the price of those
	// that pods need which find no room where kube-scheduler puts them. It contains what nodes
	// cost beyond their prices, for each of the nodes that there are fewer of.
	Saving offer.Price
	Fewer  int
	// Cost of the evictions and of the time in which both old and new machines run, in
	// micro-dollars.
	Cost offer.Price
	// Due is when the nodes have wasted so much that the step pays.
	Due time.Time
	// rooms are those of the machines, and landings are where kube-scheduler puts the pods.
	rooms    []*room
	landings []landing
}

// Place is where a pod goes.
type Place struct {
	Pod  cluster.PodKey
	From string
	Node string
}

// paysAtOnce is how soon a step must pay back to be due at once.
const paysAtOnce = 30 * time.Minute

// overlap is for how long old and new machines run together: one boots while the other
// is drained.
const overlap = 3 * time.Minute

// Solve plans.
func Solve(p *Problem) Plan {
	return newSolver(p).plan()
}

func (s *solver) plan() Plan {
	if len(s.sources) == 0 {
		return Plan{}
	}
	s.empty()
	s.replace()
	for i := range s.steps {
		s.steps[i].schedule(s.Problem)
	}
	slices.SortStableFunc(s.steps, func(a, b Step) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(b.perNode(), a.perNode()), strings.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return Plan{Steps: s.steps, Unpaid: s.unpaid()}
}

// schedule says when a step is due: when its nodes have wasted its cost while the step could have
// been taken. So no step costs more than twice what hindsight would have done. The saving is
// shared among them by their prices.
func (st *Step) schedule(p *Problem) {
	places := make(map[cluster.PodKey]string, len(st.Places))
	for _, at := range st.Places {
		places[at.Pod] = at.Node
	}
	var price, wasted float64
	for _, name := range st.Nodes {
		src := p.source(name)
		price += float64(src.Price)
		wasted += float64(float64(src.Price) * p.stable(src, places).Hours())
	}
	age := time.Duration(wasted / price * float64(time.Hour))
	pays := st.paysBack()
	st.Due = p.Base.Now
	if pays > paysAtOnce {
		st.Due = p.Base.Now.Add(max(0, pays-age))
	}
}

// stable is for how long what a step makes use of has been as it is, over the pods of a
// source by their costs. What is stable is expected to stay so as long again. Nothing has come
// to the source that stays there. Where a machine takes its place, which fits the pods of
// today, none has left either. And where a pod goes to a node that is a better source than its
// own, none has come there or left: pods are led away from such a node until it is empty, and
// to fill it up meanwhile would move a pod for each that leaves.
func (p *Problem) stable(src *Source, places map[cluster.PodKey]string) time.Duration {
	var sum, all float64
	for i := range src.Moves {
		since, at := src.LastArrival, places[src.Moves[i].Pod.PodKey]
		if at == "" {
			since = later(since, p.Changed[src.Node.Name])
		} else if p.sooner(at, src) {
			since = later(since, p.Changed[at])
		}
		weight := src.Moves[i].Cost + 1
		sum += float64(weight * float64(max(0, p.Base.Now.Sub(since))))
		all += weight
	}
	return time.Duration(sum / all)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sooner reports whether a node is a better source than another one: for what it costs, it
// costs less to move its pods.
func (p *Problem) sooner(node string, than *Source) bool {
	other := p.source(node)
	return other != nil && other.evictions()*float64(than.Price) < than.evictions()*float64(other.Price)
}

// perNode is what a step saves for each node that goes: budgets count nodes. On the timeline
// "collapse" the price falls faster so: five minutes after, it was 1.84 times the bound instead
// of 2.16 in the order of names.
func (st *Step) perNode() offer.Price { return st.Saving / offer.Price(len(st.Nodes)) }

// paysBack is after how long a step has saved what it costs; at most a hundred years.
func (st *Step) paysBack() time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	if st.Saving <= 0 {
		return longest
	}
	hours := float64(st.Cost) / float64(st.Saving)
	if hours >= longest.Hours() {
		return longest
	}
	return time.Duration(hours * float64(time.Hour))
}

// source finds a source by name.
func (p *Problem) source(name string) *Source {
	i, ok := slices.BinarySearchFunc(p.Sources, name, func(s Source, name string) int { return strings.Compare(s.Node.Name, name) })
	if !ok {
		return nil
	}
	return &p.Sources[i]
}

// evictions is the cost of evicting all of the pods.
func (s *Source) evictions() float64 {
	out := 0.0
	for i := range s.Moves {
		out += s.Moves[i].Cost
	}
	return out
}
