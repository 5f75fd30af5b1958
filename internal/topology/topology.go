// Package topology has the constraints that pods are under, those on each other first of
// all: one file for each kind, and one implementation of kube-scheduler's rules for all
// who ask. Placing pods, filling machines, trying again on nodes and confirming a plan
// put the same questions to a State: may a pod come here, what counts once it has, and
// if it may not, why.
//
// Pure matching of a pod with the labels and taints of a node is in package match, and
// what that leaves to buy in package model.
package topology

import (
	"encoding/binary"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// constraintKind is one kind of constraint: what it reads from a pod.
type constraintKind interface {
	// AppendKey adds what tells the pod's constraints of the kind from those of others.
	AppendKey(b []byte, t *cluster.Template, needs match.Needs) []byte
	// LabelKeys lists the labels of pods that its selectors look at.
	LabelKeys(t *cluster.Template) []string
	// Steps is the effort of reading them.
	Steps(r *Rules) int
	// Read adds the constraints of the kind to the rules of a class.
	Read(gs *Groups, r *Rules) error
	// ReadResident adds what pods that are there ask of others on their nodes and in
	// their domains. A constraint that cannot be read is none: the API server has
	// refused it when the pod was made.
	ReadResident(gs *Groups, t *cluster.Template, r *Resident)
	// Company says how many pods like this one its requirements allow on a node, however few are on others, and
	// whether they depend on which pods are in its domains.
	Company(t *cluster.Template) (perNode int, byDomain bool)
}

// kinds are all kinds of constraints, in the order in which they are read. Limits of
// Provisioners and room for DaemonSets are constraints on purchases, not on pods.
var kinds = []constraintKind{resources{}, requirements{}, taints{}, hostPorts{}, volumes{}, affinity{}, antiAffinity{}, topologySpread{}}

// Constraint is one constraint that the pods of a class are under.
type Constraint interface {
	// resolve is called, once all groups are known, which of them the class's pods are in.
	resolve(in []bool)
	// groups lists the groups of pods that it is about.
	groups() []int
	// keys lists the topology keys, other than the host name, whose domains matter to it.
	keys(gs *Groups) []string
	// perNode is what it allows and counts by node.
	perNode() []PerNode
	// admits reports whether another pod may enter the domains.
	admits(s *State, r *Rules, at *DomainAssignment) bool
	// admitsOn reports whether another pod may come onto a node on which so much is
	// counted; first means that the pod may be the first of those that it asks for.
	admitsOn(s *State, r *Rules, counts NodeCounts, first bool) bool
	// evens returns the group of pods of which domains with few should get more, or -1.
	evens() int
	// count adds n pods, or takes them away, to what it counts beside the groups' own pods.
	count(s *State, at *DomainAssignment, n int64)
	// preference is the id of the preference that it is, -1 where it is required.
	preference() int
	// waits reports whether domains or other pods must be right for a pod to come.
	waits() bool
	// refusal says why it leaves no place, or nothing where it never is the reason.
	refusal(s *State, r *Rules) string
}

// general is a constraintKind that reads nothing. Others begin with it.
type general struct{}

func (general) AppendKey(b []byte, _ *cluster.Template, _ match.Needs) []byte { return b }
func (general) LabelKeys(*cluster.Template) []string                          { return nil }
func (general) Steps(*Rules) int                                              { return 0 }
func (general) Read(*Groups, *Rules) error                                    { return nil }
func (general) ReadResident(*Groups, *cluster.Template, *Resident)            {}
func (general) Company(*cluster.Template) (perNode int, byDomain bool)        { return NoCap, false }

// rule is a Constraint about one group that forbids nothing. Others begin with it.
type rule struct {
	group int
	self  bool // the class's pods belong to the group
	pref  int  // id of the preference that it is, -1 where it is required
}

// Group returns the group of pods that it counts.
func (c *rule) Group() int { return c.group }

// Required reports whether it is no preference.
func (c *rule) Required() bool { return c.pref < 0 }

func (c *rule) resolve(in []bool)                              { c.self = in[c.group] }
func (c *rule) groups() []int                                  { return []int{c.group} }
func (c *rule) perNode() []PerNode                             { return nil }
func (c *rule) admits(*State, *Rules, *DomainAssignment) bool  { return true }
func (c *rule) admitsOn(*State, *Rules, NodeCounts, bool) bool { return true }
func (c *rule) evens() int                                     { return -1 }
func (c *rule) count(*State, *DomainAssignment, int64)         {}
func (c *rule) preference() int                                { return c.pref }
func (c *rule) waits() bool                                    { return false }
func (c *rule) refusal(*State, *Rules) string                  { return "" }

func (c *rule) keys(gs *Groups) []string {
	if key := gs.List[c.group].Key; key != corev1.LabelHostname {
		return []string{key}
	}
	return nil
}

// Key makes the class keys of a snapshot's pods.
type Key struct{ labels map[string]bool }

// NewKey looks at all selectors of the snapshot.
func NewKey(snapshot *cluster.Snapshot) *Key {
	keys, seen := map[string]bool{}, map[*cluster.Template]bool{}
	var last *cluster.Template
	look := func(t *cluster.Template) {
		if t != last && !seen[t] {
			seen[t] = true
			for _, k := range kinds {
				for _, key := range k.LabelKeys(t) {
					keys[key] = true
				}
			}
		}
		last = t
	}
	for i := range snapshot.Pods {
		look(snapshot.Pods[i].Template)
	}
	for i := range snapshot.DaemonSets {
		look(snapshot.DaemonSets[i].Template)
	}
	return &Key{keys}
}

// Append adds what identifies all that is known of a template apart from labels
// that no selector looks at and the names of claims that no other pod uses.
func (k *Key) Append(b []byte, t *cluster.Template, needs match.Needs) []byte {
	for _, of := range kinds {
		b = part(b, func(b []byte) []byte { return of.AppendKey(b, t, needs) })
	}
	b = part(b, func(b []byte) []byte {
		for _, key := range model.SortedKeys(t.Labels) {
			if k.labels[key] {
				b = append(b, "\x00"+key+"="+t.Labels[key]...)
			}
		}
		return b
	})
	b = part(b, func(b []byte) []byte { return append(b, t.Namespace...) })
	return strconv.AppendInt(strconv.AppendBool(b, t.ResourceClaims), int64(t.Priority), 10)
}

// Company says how many pods of the template its requirements allow on a node, however few are on
// others, and whether it matters to them which pods are in their domains.
func Company(t *cluster.Template) (perNode int, byDomain bool) {
	perNode = NoCap
	for _, k := range kinds {
		node, domain := k.Company(t)
		perNode, byDomain = min(perNode, node), byDomain || domain
	}
	return perNode, byDomain
}

// companyOver is the Company of constraints over some topology keys that allow so many pods in a domain.
func companyOver(keys []string, most int) (perNode int, byDomain bool) {
	if perNode = NoCap; slices.Contains(keys, corev1.LabelHostname) {
		perNode = most
	}
	return perNode, slices.ContainsFunc(keys, func(key string) bool { return key != corev1.LabelHostname })
}

// part adds something with its length behind it, so that parts do not run into each other.
func part(b []byte, add func([]byte) []byte) []byte {
	from := len(b)
	b = add(b)
	return binary.BigEndian.AppendUint32(b, uint32(len(b)-from))
}
