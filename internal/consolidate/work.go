package consolidate

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// mostWork is what one look may take, in steps of about ten nanoseconds: ten seconds of a CPU,
// where 200 nodes with 40 Provisioners take four. It is counted, so that a plan does not depend
// on the machine that makes it.
const mostWork = 1_000_000_000

const (
	// objectSteps is what a packing takes to read a node or a pod, offeringSteps the same for
	// what a Provisioner may buy.
	objectSteps, offeringSteps = 200, 100
	// priceSteps is what it takes for each offering to find unit prices.
	priceSteps = 10
	// seekSteps is what it takes to see whether a pod fits into a room, landSteps what it
	// takes to see how much kube-scheduler prefers the room.
	seekSteps, landSteps = 2, 40
	// fewPackings is how many packings often confirm which nodes can be done without.
	fewPackings = 8
	// shares are the parts of the work after which each stage ends; what a stage leaves is
	// for the next ones.
	shares = 8
)

// postponed is why a source that was not looked at is in no step.
const postponed = "the cluster is too large to be checked at once: its turn comes in one of the next checks"

// work is what a look has taken, may take until its stage ends, and may take in all.
type work struct {
	done, limit, most int64
	offerings         int64
	late              bool // a stage has ended early
}

func newWork(p *Problem) *work {
	w := &work{limit: mostWork, most: mostWork}
	for i := range p.Base.Provisioners {
		for k := range p.Base.Provisioners[i].Types {
			w.offerings += int64(len(p.Base.Provisioners[i].Types[k].Offerings))
		}
	}
	return w
}

// until begins a stage that ends after so many shares.
func (w *work) until(share int64) { w.limit = w.most / shares * share }

// spent reports whether the stage must end.
func (w *work) spent() bool {
	over := w.done >= w.limit
	w.late = w.late || over
	return over
}

// reading is what a packing with so many nodes and pods takes before it places any.
func (w *work) reading(objects int) int64 {
	return objectSteps*int64(objects) + offeringSteps*w.offerings
}

// solve packs.
func (w *work) solve(p *pack.Problem) *pack.Layout {
	layout := pack.Solve(p)
	w.done += layout.Effort + w.reading(len(p.Snapshot.Nodes)+len(p.Snapshot.Pods))
	return layout
}

// turns begins with another source at each look where the work is too much for one: those that
// come first may be refused each time, and the others have their turn, too.
func (s *solver) turns(sources []*Source, work int64) []*Source {
	if len(sources) == 0 || !s.late && work <= s.most-s.done {
		return sources
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.Base.Now.UnixNano())
	at := int(h.Sum64() % uint64(len(sources)))
	return slices.Concat(sources[at:], sources[:at])
}

// emptying is about what it takes to find out which of the sources can be done without. A node
// that takes pods stays, so that the pods of half of them land.
func (s *solver) emptying() int64 {
	pods, rooms := 0, len(s.rooms.list)
	for _, src := range s.sources {
		if !s.gone[src.Node.Name] && !s.taken[src.Node.Name] {
			pods += len(src.Moves)
		}
	}
	snapshot := s.Base.Snapshot
	return (seekSteps+landSteps/2)*int64(pods)*int64(rooms) + fewPackings*s.reading(len(snapshot.Nodes)+len(snapshot.Pods))
}

// replacing is about what it takes to look for replacements of so many nodes.
func (s *solver) replacing(nodes int) int64 {
	perNode := 1 + len(s.Base.Snapshot.Pods)/len(s.Base.Snapshot.Nodes)
	return int64(min(nodes*len(groupSizes), maxGroups)) * s.reading((1+nearbyRooms)*perNode)
}

// postpone leaves sources to another look.
func (s *solver) postpone(sources ...*Source) {
	for _, src := range sources {
		delete(s.gone, src.Node.Name)
		s.refuse(src.Node.Name, postponed)
	}
}

// again forgets what was postponed, to look at it once more.
func (s *solver) again() {
	maps.DeleteFunc(s.refused, func(_ string, as Unpaid) bool { return as.Why == postponed })
}
