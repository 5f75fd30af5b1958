package topology

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// volumes are a pod's claims. Where their volumes are decides in which of its places a
// pod may be; pods that share a claim whose volume EBS has yet to make must be in one zone;
// and a CSI driver attaches so many volumes to a node. They are counted by
// node like pods of a group: of a volume that no other pod uses each pod takes one
// attachment, of a volume that several pods share only the first pod on the node does.
type volumes struct{ general }

func (volumes) AppendKey(b []byte, _ *cluster.Template, needs match.Needs) []byte {
	for _, place := range needs.Places {
		b = append(b, "\x00"+place.String()...)
	}
	for _, driver := range slices.Sorted(maps.Keys(needs.Attach)) {
		b = fmt.Appendf(b, "\x01%s=%d", driver, needs.Attach[driver])
	}
	for _, v := range needs.Shared {
		b = append(b, "\x02"+v.Volume...)
	}
	return b
}

func (volumes) Read(gs *Groups, r *Rules) error {
	if of := gs.Attachments(r.Needs); len(of) > 0 {
		r.add(&attachments{rule{pref: -1}, of})
	}
	for _, v := range r.Needs.Shared {
		if v.Unbound && v.Driver == cluster.EBSDriver {
			r.add(&Affinity{rule{group: gs.usersOf(v.Volume), pref: -1}, v.Volume})
		}
	}
	return nil
}

// usersOf returns the group of the pods that use a claim, by zone.
func (gs *Groups) usersOf(claim string) int {
	return gs.add("users of claim "+claim, &Group{Key: corev1.LabelTopologyZone, pods: func(t *cluster.Template) bool {
		return slices.ContainsFunc(t.Claims, func(ref cluster.ClaimRef) bool { return t.Namespace+"/"+ref.Name == claim })
	}})
}

// attachments are the volumes that a pod needs on its node.
type attachments struct {
	rule
	of []PerNode
}

func (c *attachments) resolve([]bool)        {}
func (c *attachments) groups() []int         { return nil }
func (c *attachments) keys(*Groups) []string { return nil }
func (c *attachments) perNode() []PerNode    { return c.of }

// Attachments returns what a pod with the needs takes of the nodes' attach limits.
func (gs *Groups) Attachments(needs match.Needs) []PerNode {
	var out []PerNode
	of := func(driver string) int {
		return gs.add("attachments of "+driver, &Group{Key: corev1.LabelHostname, volumes: true, ofNode: true})
	}
	for _, driver := range slices.Sorted(maps.Keys(needs.Attach)) {
		out = addPerNode(out, PerNode{Group: of(driver), Self: needs.Attach[driver], Cap: NoCap, Entry: NoCap})
	}
	for _, v := range needs.Shared {
		id := gs.add("volume of claim "+v.Volume, &Group{Key: corev1.LabelHostname, volumes: true, ofNode: true})
		out = addPerNode(out, PerNode{Group: of(v.Driver), Cap: NoCap, Entry: NoCap})
		out = addPerNode(out, PerNode{Group: id, Self: 1, Cap: NoCap, Entry: NoCap, driver: 1 + of(v.Driver)})
	}
	return out
}

// AttachLimits returns the counts of a node to which nothing is attached.
func (gs *Groups) AttachLimits(n *cluster.Node) NodeCounts {
	var out NodeCounts
	for _, driver := range slices.Sorted(maps.Keys(n.VolumeLimits)) {
		if id, ok := gs.byKey[corev1.LabelHostname+"\x00attachments of "+driver]; ok {
			out = out.tally(PerNode{Group: id, Cap: n.VolumeLimits[driver]}, 0)
		}
	}
	return out
}

// AboutPods reports whether what is counted by node are pods rather than volumes.
func (gs *Groups) AboutPods(p PerNode) bool { return !gs.List[p.Group].volumes }

// sharedBy returns the group of the attachments of which the first pod takes one.
func (p PerNode) sharedBy() (int, bool) { return p.driver - 1, p.driver > 0 }

// attaches counts, by the groups of their drivers, the shared volumes that are yet to be
// attached for a pod.
func (h NodeCounts) attaches(of []PerNode) map[int]int64 {
	out := map[int]int64{}
	for _, p := range of {
		if driver, ok := p.sharedBy(); ok {
			if count, _ := h.Get(p.Group); count == 0 {
				out[driver]++
			}
		}
	}
	return out
}
