package nodes

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Assumptions hold what the agent has done and its caches may not show yet: nodes created, pods
// bound, nodes changed. Without them, a turn on caches that lag would do the same again, and
// would not count what is in flight. Each is forgotten once the caches agree, and after ttl.
type Assumptions struct {
	mu    sync.Mutex
	nodes map[string]assumedNode
	pods  map[string]assumedBinding // by UID
	edits map[string]assumedEdit    // by node

	deleted map[string]time.Time // by identity of the node: when the agent last asked for its deletion

	refused map[string]string // by identity of the node: why its deletion, or what comes before, was refused the last time
	pauses  *pace.Retries     // the same: until when it counts as refused
}

// ttl is how long the agent trusts what it did over what its caches say.
const ttl = 30 * time.Second

type assumedNode struct {
	node cluster.Node
	// created is false where the cloud has the machine, but creating its Node
	// object went wrong: it takes up room, and nothing may be bound to it.
	created bool
	until   time.Time
}

type assumedBinding struct {
	node  string
	until time.Time
}

type assumedEdit struct {
	changes []cluster.NodeChange
	deleted bool
	until   time.Time
}

// NewAssumptions returns none.
func NewAssumptions() *Assumptions {
	return &Assumptions{
		nodes: map[string]assumedNode{},
		pods:  map[string]assumedBinding{},
		edits: map[string]assumedEdit{},

		deleted: map[string]time.Time{},

		refused: map[string]string{},
		pauses:  pace.Refusals(),
	}
}

func (a *Assumptions) node(node cluster.Node, created bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[node.Name] = assumedNode{node: node, created: created, until: time.Now().Add(ttl)}
	if created {
		delete(a.edits, node.Name) // they were of an earlier node of this name
	}
}

// Bound assumes that a pod is on a node.
func (a *Assumptions) Bound(pod cluster.PodKey, node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods[pod.UID] = assumedBinding{node: node, until: time.Now().Add(ttl)}
}

func (a *Assumptions) edited(node string, change cluster.NodeChange) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e := a.edits[node]
	e.changes = append(slices.Clip(e.changes), change)
	e.until = time.Now().Add(ttl)
	a.edits[node] = e
}

// remembered is how long it is known, at least, that the agent has asked for a deletion.
const remembered = 10 * time.Minute

// deletes notes that the agent asks for a node's deletion.
func (a *Assumptions) deletes(n *cluster.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.deleted, func(_ string, at time.Time) bool { return time.Since(at) >= remembered })
	a.deleted[n.Identity()] = time.Now()
}

// Deletes reports whether the agent has asked for a node's deletion in the last minutes.
func (a *Assumptions) Deletes(n *cluster.Node) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, asked := a.deleted[n.Identity()]
	return asked
}

// asked notes that a node's deletion was asked for, or why the API server has refused it or what comes before it.
func (a *Assumptions) asked(n *cluster.Node, refused error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := n.Identity()
	if refused != nil {
		if a.pauses.Due(id) { // attempts meanwhile are of removals that do not wait, such as that of an unhealthy node
			a.pauses.Failed(id)
		}
		a.refused[id] = "the agent could not " + refused.Error()
		return
	}
	a.pauses.Succeeded(id)
	delete(a.refused, id)
	e := a.edits[n.Name]
	e.deleted, e.until = true, time.Now().Add(ttl)
	a.edits[n.Name] = e
}

// lingering is how long a machine that could not be terminated is assumed to run on. The next attempt comes
// earlier.
const lingering = 3 * time.Minute

// Lingers assumes that a machine without a Node object runs on: it could not be terminated, or the Node object
// of an earlier machine still has its name. It counts against limits and takes no pods.
func (a *Assumptions) Lingers(node cluster.Node) {
	node.Deleting, node.Finalizers = true, nil // there is no object that could be held
	a.mu.Lock()
	defer a.mu.Unlock()
	a.nodes[node.Name] = assumedNode{node: node, until: time.Now().Add(lingering)}
}

// Gone forgets a node that the agent has let go.
func (a *Assumptions) Gone(node string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.nodes, node)
	delete(a.edits, node)
}

// Uncreated reports whether the node has no Node object although its machine exists.
func (a *Assumptions) Uncreated(node string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.nodes[node]
	return ok && !n.created
}

// Apply returns the snapshot as it will be once the caches have caught up. The
// argument is not changed.
func (a *Assumptions) Apply(s *cluster.Snapshot) *cluster.Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := *s
	now := time.Now()
	a.applyPods(&out, now)
	a.applyEdits(&out, now)
	a.applyNodes(&out, now)
	a.applyRefusals(&out)
	return &out
}

func (a *Assumptions) applyRefusals(s *cluster.Snapshot) {
	if len(a.refused) == 0 {
		return
	}
	s.Nodes = slices.Clone(s.Nodes)
	there := make(map[string]bool, len(s.Nodes))
	for n := range s.EachNode() {
		id := n.Identity()
		there[id] = true
		if !a.pauses.Due(id) {
			n.Refused = a.refused[id]
		}
	}
	for id := range a.refused {
		if !there[id] {
			delete(a.refused, id)
			a.pauses.Succeeded(id)
		}
	}
}

func (a *Assumptions) applyPods(s *cluster.Snapshot, now time.Time) {
	if len(a.pods) == 0 {
		return
	}
	s.Pods = slices.Clone(s.Pods)
	open := make(map[string]bool, len(a.pods))
	for p := range s.EachPod() {
		bound, ok := a.pods[p.UID]
		if !ok || p.NodeName != "" || now.After(bound.until) {
			continue
		}
		open[p.UID] = true
		p.NodeName, p.State = bound.node, cluster.PodBound
	}
	maps.DeleteFunc(a.pods, func(uid string, _ assumedBinding) bool { return !open[uid] })
}

func (a *Assumptions) applyEdits(s *cluster.Snapshot, now time.Time) {
	if len(a.edits) == 0 {
		return
	}
	s.Nodes = slices.Clone(s.Nodes)
	open := make(map[string]bool, len(a.edits))
	for n := range s.EachNode() {
		e, ok := a.edits[n.Name]
		if !ok || now.After(e.until) {
			continue
		}
		differs := e.deleted && !n.Deleting
		n.Deleting = n.Deleting || e.deleted
		for _, c := range e.changes {
			differs = c.ApplyTo(n) || differs
		}
		open[n.Name] = differs
	}
	maps.DeleteFunc(a.edits, func(name string, _ assumedEdit) bool { return !open[name] })
}

func (a *Assumptions) applyNodes(s *cluster.Snapshot, now time.Time) {
	if len(a.nodes) == 0 {
		return
	}
	for i := range s.Nodes {
		delete(a.nodes, s.Nodes[i].Name)
	}
	maps.DeleteFunc(a.nodes, func(_ string, n assumedNode) bool { return now.After(n.until) })
	s.Nodes = slices.Clone(s.Nodes)
	for _, n := range a.nodes {
		s.Nodes = append(s.Nodes, n.node)
	}
	s.Sort()
}
