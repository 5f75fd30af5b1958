package decide

import "slices"

// destinations are where those pods of a leaving node will go that cannot move yet.
type destinations struct {
	machines []string // of the plan
	starting []string // nodes that are not up yet, sorted
	// step has all nodes that go in the same step of consolidation, if they are several, sorted.
	step    []string
	unready string // a node that was up and is not ready now; empty where all are
	// nowhere is why a pod of the node has no place; empty where all have one.
	nowhere string
}

// destinations returns them by leaving node.
func (d *decision) destinations(p *Plan) map[string]*destinations {
	out := map[string]*destinations{}
	for name := range d.leaving {
		out[name] = &destinations{}
	}
	for i := range p.Machines {
		for _, m := range p.Machines[i].Moving {
			to := out[m.From]
			if !slices.Contains(to.machines, p.Machines[i].Name) {
				to.machines = append(to.machines, p.Machines[i].Name)
			}
		}
	}
	for _, b := range p.Bindings {
		if b.From == "" || slices.Contains(out[b.From].starting, b.Node) {
			continue
		}
		switch n := d.in.Snapshot.Node(b.Node); {
		case n == nil:
		case !n.HasBeenUp():
			out[b.From].starting = append(out[b.From].starting, b.Node)
		case !n.Ready:
			out[b.From].unready = b.Node
		}
	}
	for i := range p.Unplaced {
		if u := &p.Unplaced[i]; u.From != "" && out[u.From].nowhere == "" {
			out[u.From].nowhere = "pod " + u.Pod.String() + " cannot be placed elsewhere: " + u.Reason
		}
	}
	for _, to := range out {
		slices.Sort(to.starting)
	}
	return out
}
