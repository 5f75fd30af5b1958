package model

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// classKey is what pods have in common that the plan treats alike.
type classKey struct {
	template *cluster.Template
	moving   bool
}

// templateClass are pods of one class key.
type templateClass struct {
	*Class // of those that have no nodes of their own; nil until there is one
	needs  match.Needs
	miss   match.Miss
}

// classifier groups pods into classes.
type classifier struct {
	in         *Input
	volumes    *match.Volumes
	effort     *Effort
	key        []byte // scratch
	byTemplate map[classKey]*templateClass
	known      map[string]*Class // by signature
	classes    []*Class
	refusals   []Rejection
}

// Rejection is why a pod gets no place, whatever there is.
type Rejection struct {
	Pod    int
	Reason string
}

// classify groups the pods into classes, in the order of the first pod of each.
func (f *classifier) classify() {
	claimed := exclusiveClaims(f.in.Snapshot)
	var known *templateClass
	for i := range f.in.Pods {
		d := &f.in.Pods[i]
		if last := i - 1; last < 0 || d.classKey() != f.in.Pods[last].classKey() {
			known = f.templateClassOf(d)
		}
		if d.Refused != "" {
			f.refuse(i, d.Refused)
			continue
		}
		if known.miss.Missed() {
			f.refuse(i, known.miss.String())
			continue
		}
		if len(d.Pod.Template.Claims) > 0 {
			if miss := claimed.take(d.Pod); miss.Missed() {
				f.refuse(i, miss.String())
				continue
			}
		}
		c := known.Class
		if len(d.Nodes) > 0 {
			c = f.classOf(d, known)
		} else if c == nil {
			c = f.classOf(d, known)
			known.Class = c
		}
		c.add(i, d)
		f.effort.join(d.Pod.Template, c.Account)
	}
}

func (f *classifier) refuse(pod int, reason string) {
	f.refusals = append(f.refusals, Rejection{pod, reason})
}

func (d *Pod) classKey() classKey { return classKey{d.Pod.Template, d.From != ""} }

func (f *classifier) templateClassOf(d *Pod) *templateClass {
	of := d.classKey()
	known := f.byTemplate[of]
	if known == nil {
		known = &templateClass{}
		known.needs, known.miss = f.volumes.Needs(of.template, of.moving)
		f.byTemplate[of] = known
	}
	return known
}

// classOf returns the class of the pod, made once.
func (f *classifier) classOf(d *Pod, of *templateClass) *Class {
	key := append(f.in.Key(f.key[:0], d.Pod.Template, of.needs), '\n')
	for _, name := range d.Nodes {
		key = append(append(key, name...), '\n')
	}
	f.key = key
	c := f.known[string(key)]
	if c == nil {
		c = newClass(d.Pod.Template, of.needs, d.Nodes)
		c.Account = f.effort.accounts[d.Pod.Template]
		f.known[string(key)] = c
		f.classes = append(f.classes, c)
	}
	return c
}

func (c *Class) add(i int, d *Pod) {
	c.Pods = append(c.Pods, i)
	if d.Growing {
		c.Growing++
	}
}

func newClass(t *cluster.Template, needs match.Needs, nodes []string) *Class {
	c := &Class{Template: t, Nodes: nodes, Needs: needs, Tolerates: TolerationKey(t.Tolerations), Prefers: match.Preferences(t.Affinity)}
	c.Places, c.Never = PlacesOf(t, needs)
	return c
}

// PlacesOf returns what the nodes of the template's pods must be, one of several places, or
// why they can have no place at all.
func PlacesOf(t *cluster.Template, needs match.Needs) ([]match.Requirements, match.Miss) {
	places, never := match.Places(t, needs.Places)
	if t.ResourceClaims {
		never = match.Miss{Kind: match.Unsupported, Want: "the pod uses dynamic resource claims, which cannot be planned"}
	}
	return places, never
}
