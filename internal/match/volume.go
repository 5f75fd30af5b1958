package match

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/labelset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// maxAlternatives bounds the combinations of a pod's volume topologies and
// affinity terms.
const maxAlternatives = 64

// Volumes finds what a pod's claims lead to.
type Volumes struct {
	snapshot *cluster.Snapshot
	fallback *cluster.StorageClass // the newest default class
	shared   map[string]bool       // by claim (namespace/name) that pods use: whether several do
	static   static
	byClass  map[string][]int // see ofClass
}

// NewVolumes indexes the volumes of a snapshot.
func NewVolumes(s *cluster.Snapshot) *Volumes {
	v := &Volumes{snapshot: s, shared: sharedClaims(s.Pods)}
	for i := range s.StorageClasses {
		c := &s.StorageClasses[i]
		if c.Default && (v.fallback == nil || c.Created.After(v.fallback.Created)) {
			v.fallback = c
		}
	}
	v.static = v.assign()
	return v
}

func sharedClaims(pods []cluster.Pod) map[string]bool {
	users := map[string]bool{} // whether there are several
	for i := range pods {
		for _, ref := range pods[i].Template.Claims {
			name := pods[i].Namespace + "/" + ref.Name
			_, other := users[name]
			users[name] = other
		}
	}
	return users
}

// Needs are what a pod's volumes ask of its node.
type Needs struct {
	// Places are alternatives, in order; at least one.
	Places []Requirements
	// Attach counts, by CSI driver, the volumes that no other pod uses.
	Attach map[string]int64
	// Shared are volumes that other pods use as well: a node attaches each of them once.
	Shared []Attachment
}

// Attachment is a volume that a CSI driver attaches to nodes.
type Attachment struct {
	Driver  string
	Volume  string // the claim of the volume: namespace/name
	Unbound bool   // the volume is going to be made where the first of its pods is
}

// Needs resolves the claims of a template. Where moving is set the pod is to
// leave its node: a volume that lives on that node stays behind, one that is being
// deleted is attached to no other node, although kube-scheduler would place the pod,
// and the claims of ephemeral volumes go with the pod, so that its successor gets others.
func (v *Volumes) Needs(t *cluster.Template, moving bool) (Needs, Miss) {
	out := Needs{Places: []Requirements{nil}}
	for _, ref := range t.Claims {
		places, driver, miss := v.claim(t.Namespace, ref, moving)
		if !miss.Missed() && (!moving || !ref.Ephemeral) {
			miss = v.unusable(t.Namespace, ref)
		}
		if miss.Missed() {
			return Needs{}, miss
		}
		if out.Places = combine(out.Places, places); len(out.Places) > maxAlternatives {
			return Needs{}, Miss{Kind: Unsupported, Want: "the volumes' topologies have too many combinations"}
		}
		v.attach(&out, driver, t.Namespace, ref.Name)
	}
	return out, Miss{}
}

// Attached returns what the volumes of a running pod take of its node. Those of which
// nothing is known take nothing.
func (v *Volumes) Attached(t *cluster.Template) Needs {
	var out Needs
	for _, ref := range t.Claims {
		if _, driver, miss := v.claim(t.Namespace, ref, false); !miss.Missed() {
			v.attach(&out, driver, t.Namespace, ref.Name)
		}
	}
	return out
}

// attach counts the volume of a claim. Claims and volumes belong to each other one to one.
func (v *Volumes) attach(n *Needs, driver, namespace, name string) {
	claim := namespace + "/" + name
	switch {
	case driver == "":
	case v.shared[claim]:
		c := v.snapshot.Claim(namespace, name)
		n.Shared = append(n.Shared, Attachment{driver, claim, c != nil && c.VolumeName == ""})
	default:
		if n.Attach == nil {
			n.Attach = map[string]int64{}
		}
		n.Attach[driver]++
	}
}

// combine returns the conjunctions of one of a and one of b that can be met, each once; the first of
// them where none can, to say why. It stops where there are more than maxAlternatives.
func combine(a, b []Requirements) []Requirements {
	var out []Requirements
	known := map[string]bool{}
	for _, x := range a {
		for _, y := range b {
			both := x.And(y)
			key := both.String()
			if _, bad := both.Unmeetable(); bad || known[key] {
				continue
			}
			known[key] = true
			if out = append(out, both); len(out) > maxAlternatives {
				return out
			}
		}
	}
	if len(out) == 0 {
		return []Requirements{a[0].And(b[0])}
	}
	return out
}

// claim resolves one claim to alternatives of places and its driver.
func (v *Volumes) claim(namespace string, ref cluster.ClaimRef, moving bool) ([]Requirements, string, Miss) {
	switch c := v.snapshot.Claim(namespace, ref.Name); {
	case ref.Ephemeral && (moving || c == nil):
		return v.unbound(&cluster.Claim{Namespace: namespace, Name: ref.Name, StorageClass: ref.StorageClass, Planned: moving || ref.Planned})
	case c != nil && c.Lost:
		return nil, "", volumeMiss("persistent volume claim %s/%s is lost: its volume %s is gone or belongs to another claim", namespace, ref.Name, c.VolumeName)
	case c != nil && c.VolumeName != "":
		return v.bound(c, moving)
	case c != nil:
		places, driver, miss := v.unbound(c)
		if n := v.snapshot.Node(c.Selected); n != nil && !n.Deleting && !moving && !miss.Missed() {
			// kube-scheduler puts the pod on no other node while that one is selected.
			places = []Requirements{{{Key: NodeNameField, Set: labelset.Only(n.Name)}}}
		}
		return places, driver, miss
	}
	return nil, "", volumeMiss("persistent volume claim %s/%s does not exist", namespace, ref.Name)
}

// unusable says why the scheduler places no further pod with a claim, which a running pod may well use.
func (v *Volumes) unusable(namespace string, ref cluster.ClaimRef) Miss {
	switch c := v.snapshot.Claim(namespace, ref.Name); {
	case c != nil && c.Deleting:
		return volumeMiss("persistent volume claim %s/%s is being deleted", namespace, ref.Name)
	case c != nil && c.Binding:
		return volumeMiss("persistent volume claim %s/%s is not bound yet to its volume %s", namespace, ref.Name, c.VolumeName)
	}
	return Miss{}
}

func (v *Volumes) bound(c *cluster.Claim, moving bool) ([]Requirements, string, Miss) {
	p := v.snapshot.Volume(c.VolumeName)
	if p == nil {
		return nil, "", volumeMiss("persistent volume %s of claim %s/%s does not exist", c.VolumeName, c.Namespace, c.Name)
	}
	if p.Claim.Set() && !p.Claim.Is(c.Key()) {
		return nil, "", volumeMiss("persistent volume %s of claim %s/%s belongs to %s", p.Name, c.Namespace, c.Name, other(c, p.Claim))
	}
	if moving && p.Deleting {
		return nil, "", volumeMiss("persistent volume %s of claim %s/%s is being deleted", p.Name, c.Namespace, c.Name)
	}
	places, ok := placesOf(p, moving)
	if !ok {
		return nil, "", volumeMiss("persistent volume %s can be used on no node: no term of its node affinity can match", p.Name)
	}
	return places, p.Driver, Miss{}
}

// other names the claim that a volume belongs to instead.
func other(c *cluster.Claim, owner cluster.ClaimKey) string {
	if owner.Namespace == c.Namespace && owner.Name == c.Name {
		return "an earlier claim " + owner.String()
	}
	return "claim " + owner.String()
}

// placesOf returns the alternatives of where a volume can be used, or false where that is
// nowhere.
func placesOf(p *cluster.Volume, moving bool) ([]Requirements, bool) {
	if p.NodeAffinity == nil {
		return []Requirements{nil}, true
	}
	var places []Requirements
	for i := range p.NodeAffinity.NodeSelectorTerms {
		place, miss := fromTerm(&p.NodeAffinity.NodeSelectorTerms[i])
		if miss.Missed() {
			continue
		}
		if p.Local && moving {
			place = slices.DeleteFunc(place, func(q Requirement) bool { return q.Key == api.LabelHostname })
		}
		places = append(places, place)
	}
	return places, len(places) > 0
}

func (v *Volumes) unbound(c *cluster.Claim) ([]Requirements, string, Miss) {
	class, miss := v.class(c.Name, c.StorageClass)
	switch {
	case miss.Missed():
		return nil, "", miss
	case !class.WaitForFirstConsumer && !c.Planned:
		return nil, "", volumeMiss("persistent volume claim %s is not bound yet, and its storage class %s does not wait for a node", c.Name, class.Name)
	case class.Static:
		return v.existing(c, class)
	}
	if len(class.AllowedTopologies) == 0 {
		return []Requirements{nil}, class.Driver, Miss{}
	}
	places := make([]Requirements, 0, len(class.AllowedTopologies))
	for _, term := range class.AllowedTopologies {
		places = append(places, fromTopology(term))
	}
	return places, class.Driver, Miss{}
}

func fromTopology(term corev1.TopologySelectorTerm) Requirements {
	var out Requirements
	for _, e := range term.MatchLabelExpressions {
		out = append(out, Requirement{Key: api.NormalizeLabel(e.Key), Set: labelset.Only(e.Values...)})
	}
	return conjunction(out)
}

func (v *Volumes) class(claim string, name *string) (*cluster.StorageClass, Miss) {
	if name == nil {
		if v.fallback == nil {
			return nil, volumeMiss("persistent volume claim %s names no storage class, and there is no default", claim)
		}
		return v.fallback, Miss{}
	}
	if *name == "" {
		return nil, volumeMiss("persistent volume claim %s has an empty storage class name and waits for a volume that is created by hand", claim)
	}
	classes := v.snapshot.StorageClasses
	i, ok := slices.BinarySearchFunc(classes, *name, func(c cluster.StorageClass, name string) int { return strings.Compare(c.Name, name) })
	if !ok {
		return nil, volumeMiss("storage class %s of persistent volume claim %s does not exist", *name, claim)
	}
	return &classes[i], Miss{}
}

func volumeMiss(format string, args ...any) Miss {
	return Miss{Kind: Volume, Want: fmt.Sprintf(format, args...)}
}
