package consolidate

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// room is a node with what is left of it. It only proposes places: what pods ask of each
// other is looked at roughly here, and a packing confirms whatever is proposed.
type room struct {
	node *cluster.Node
	zone string
	free []int64
	all  []int64
	// like counts the pods by template, for those that are kept apart.
	like map[*cluster.Template]int
}

// rooms are the nodes that pods may be moved to.
type rooms struct {
	space *model.Space
	list  []*room
	// kinds are what is known of templates.
	kinds   map[*cluster.Template]*kind
	volumes *match.Volumes
	needs   map[*cluster.Template][]int64
}

// kind is a template with the rooms that it may be in.
type kind struct {
	need   []int64
	places []match.Requirements
	never  bool
	zonal  bool // its pods look at other pods by zone, so that they stay in theirs
	most   int  // of its pods may be on a node, however few are on others
	may    []int8
}

// newRooms lists those on the nodes that are open.
func newRooms(s *cluster.Snapshot, open func(*cluster.Node) bool) *rooms {
	r := &rooms{kinds: map[*cluster.Template]*kind{}, needs: map[*cluster.Template][]int64{}, volumes: match.NewVolumes(s)}
	var lists []amount.List
	for i := range s.Nodes {
		lists = append(lists, s.Nodes[i].Allocatable)
	}
	r.space = model.NewSpace(lists)
	byName := map[string]*room{}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		room := &room{node: n, zone: n.Labels[api.LabelZone], all: r.space.Vector(n.Allocatable), like: map[*cluster.Template]int{}}
		room.free = slices.Clone(room.all)
		byName[n.Name] = room
		if !n.Deleting && open(n) {
			r.list = append(r.list, room)
		}
	}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if at := byName[cmp.Or(pod.NodeName, pod.NominatedNode)]; at != nil {
			at.take(pod.Template, r.need(pod.Template))
		}
	}
	return r
}

func (r *rooms) need(t *cluster.Template) []int64 {
	v, ok := r.needs[t]
	if !ok {
		v = r.space.Vector(t.Requests)
		r.needs[t] = v
	}
	return v
}

func (m *room) take(t *cluster.Template, need []int64) {
	model.AddTimes(m.free, need, -1)
	m.like[t]++
}

func (m *room) give(t *cluster.Template, need []int64) {
	model.AddTimes(m.free, need, 1)
	m.like[t]--
}

// giveBack gives the rooms of pods back.
func (r *rooms) giveBack(taken map[*cluster.Pod]*room) {
	for pod, m := range taken {
		m.give(pod.Template, r.need(pod.Template))
	}
}

func (r *rooms) kind(t *cluster.Template) *kind {
	k, ok := r.kinds[t]
	if ok {
		return k
	}
	k = &kind{need: r.need(t), may: make([]int8, len(r.list))}
	r.kinds[t] = k
	needs, miss := r.volumes.Needs(t, true)
	if miss.Missed() {
		k.never = true
		return k
	}
	k.places, miss = model.PlacesOf(t, needs)
	k.never = miss.Missed() || !r.known(t)
	k.most, k.zonal = topology.Company(t)
	return k
}

// known reports whether some node has each of the resources that the template asks for.
func (r *rooms) known(t *cluster.Template) bool {
	for name, v := range t.Requests {
		if _, ok := slices.BinarySearch(r.space.Names, name); !ok && v > 0 {
			return false
		}
	}
	return true
}

// admits reports whether the room's labels, taints and pods allow one of the kind.
func (r *rooms) admits(k *kind, t *cluster.Template, i int, zone string) bool {
	m := r.list[i]
	if k.zonal && m.zone != zone || m.like[t] >= k.most {
		return false
	}
	if k.may[i] == 0 {
		k.may[i] = -1
		// The startup taints of a node that is coming up count: kube-scheduler puts nothing there yet.
		tainted := match.Untolerated(match.Lasting(m.node, nil), t.Tolerations, false) != nil
		if !tainted && slices.ContainsFunc(k.places, func(q match.Requirements) bool { return match.Meets(q, m.node) }) {
			k.may[i] = 1
		}
	}
	return k.may[i] > 0
}

// best finds the fullest room that takes a pod, among the nodes that may, or -1.
func (r *rooms) best(t *cluster.Template, zone string, may func(node string) bool) int {
	k := r.kind(t)
	if k.never {
		return -1
	}
	found, least := -1, 0.0
	for i, m := range r.list {
		left, ok := m.after(k.need)
		if ok && (found < 0 || left < least) && r.admits(k, t, i, zone) && may(m.node.Name) {
			found, least = i, left
		}
	}
	return found
}

// after returns which share of the room would be free if the need were met, over CPU,
// memory and all else; false where it cannot be.
func (m *room) after(need []int64) (float64, bool) {
	share := 0.0
	for i, v := range need {
		left := m.free[i] - v
		if left < 0 && v > 0 {
			return 0, false
		}
		if v > 0 && m.all[i] > 0 {
			share += float64(left) / float64(m.all[i])
		}
	}
	return share, true
}
