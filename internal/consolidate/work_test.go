package consolidate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// manyNodes are so many nodes with three pods each, of which one in so many could go: the pods of
// the others are too large to share a node.
func manyNodes(nodes, roomy int) *Problem {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	small := &cluster.Template{Requests: amount.List{amount.CPU: 400, amount.Memory: 1 << 30, amount.Pods: 1}}
	large := &cluster.Template{Requests: amount.List{amount.CPU: 1200, amount.Memory: 4 << 30, amount.Pods: 1}}
	s := &cluster.Snapshot{}
	for i := range nodes {
		s.Nodes = append(s.Nodes, cluster.Node{
			Name: fmt.Sprintf("n%04d", i), Ready: true, Initialized: true, Provisioner: "p",
			Labels:      map[string]string{api.LabelZone: string(rune('a' + i%3))},
			Allocatable: amount.List{amount.CPU: 4000, amount.Memory: 16 << 30, amount.Pods: 50},
		})
		t := large
		if i%roomy == 0 {
			t = small
		}
		for k := range 3 {
			key := cluster.PodKey{Namespace: "x", Name: fmt.Sprintf("p%04d-%d", i, k)}
			s.Pods = append(s.Pods, cluster.Pod{PodKey: key, NodeName: s.Nodes[i].Name, State: cluster.PodBound, Template: t})
		}
	}
	s.Sort()
	p := &Problem{Base: pack.Problem{Now: now, Snapshot: s}}
	for i := range s.Nodes {
		src := Source{Node: &s.Nodes[i], Price: 200_000, Cost: 200_000, LastArrival: now.Add(-time.Hour), Together: nodes}
		for k := range 3 {
			src.Moves = append(src.Moves, Move{Pod: &s.Pods[3*i+k], Cost: float64(1000 + i)})
		}
		p.Sources = append(p.Sources, src)
	}
	return p
}

// look plans with so much work at most.
func look(p *Problem, most int64) (*solver, Plan) {
	s := newSolver(p)
	s.most = most
	return s, s.plan()
}

// A look ends when its work is done, however many nodes there are. What it does not reach is said
// to be looked at later.
func TestWorkIsBounded(t *testing.T) {
	const most = 2_000_000
	for _, roomy := range []int{1, 2} {
		for _, nodes := range []int{400, 1200} {
			p := manyNodes(nodes, roomy)
			s, plan := look(p, most)
			// What has begun is completed: a packing, or the landings of the pods of a node.
			begun := s.reading(len(p.Base.Snapshot.Nodes)+len(p.Base.Snapshot.Pods)) + landSteps*3*int64(nodes)
			if s.done > most+begun {
				t.Errorf("%d nodes, one in %d of which has room: %d steps of work, and %d were allowed", nodes, roomy, s.done, most)
			}
			if seen, late := turned(p, plan); len(late) == 0 || len(seen) == 0 {
				t.Errorf("%d nodes, one in %d of which has room: %d were looked at and %d were not", nodes, roomy, len(seen), len(late))
			}
		}
	}
}

// turned says which sources a plan has looked at, and which it has not.
func turned(p *Problem, plan Plan) (seen, late []string) {
	for i := range p.Sources {
		name := p.Sources[i].Node.Name
		if plan.Unpaid[name].Why == postponed {
			late = append(late, name)
		} else {
			seen = append(seen, name)
		}
	}
	return seen, late
}

// Where a look does not reach all nodes, each is reached by one of the next looks.
func TestAllNodesGetTheirTurn(t *testing.T) {
	for _, roomy := range []int{2, 1000} {
		p := manyNodes(100, roomy)
		seen := map[string]bool{}
		looks := 0
		for ; looks < 200 && len(seen) < len(p.Sources); looks++ {
			_, plan := look(p, 400_000)
			names, _ := turned(p, plan)
			for _, name := range names {
				seen[name] = true
			}
			p.Base.Now = p.Base.Now.Add(5 * time.Minute)
		}
		if looks < 2 || len(seen) < len(p.Sources) {
			t.Errorf("one in %d has room: %d of %d nodes were looked at in %d looks", roomy, len(seen), len(p.Sources), looks)
		}
	}
}

// Pods that wait leave work for the nodes, however many there are, if they have room nowhere. If they have, and take too
// much to land, all nodes are for another look at once.
func TestWaitingPodsLeaveWork(t *testing.T) {
	for name, c := range map[string]struct {
		cpu  int64
		late bool
	}{
		"without room": {8000, false},
		"with room":    {1, true},
	} {
		t.Run(name, func(t *testing.T) {
			const nodes, waiting = 1000, 20_000
			p := manyNodes(nodes, 2)
			pod := &cluster.Pod{Template: &cluster.Template{Requests: amount.List{amount.CPU: c.cpu}}}
			p.Base.Pods = slices.Repeat([]pack.Demand{{Pod: pod, Nodes: []string{"elsewhere"}}}, waiting)
			s := newSolver(p)
			if spent := s.done >= s.most; spent != c.late {
				t.Errorf("the waiting pods took %d of %d steps of work", s.done, s.most)
			}
			if _, late := turned(p, s.plan()); c.late != (len(late) == nodes) {
				t.Errorf("%d of %d nodes were left to another look", len(late), nodes)
			}
		})
	}
}
