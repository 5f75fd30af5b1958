package model

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// kinship is what pods have in common for which the same goes.
type kinship struct {
	template *cluster.Template
	moving   bool
}

// kin are pods of one kinship.
type kin struct {
	*Class // of those that have no nodes of their own; nil until there is one
	needs  match.Needs
	miss   match.Miss
}

// classifier groups pods into classes.
type classifier struct {
	in       *Input
	volumes  *match.Volumes
	effort   *Effort
	keys     []string // pod labels that any selector looks at
	key      []byte   // scratch
	kin      map[kinship]*kin
	known    map[string]*Class // by signature
	classes  []*Class
	refusals []Refusal
}

// Refusal is why a pod gets no place, whatever there is.
type Refusal struct {
	Pod    int
	Reason string
}

// classify groups the pods into classes, in the order of the first pod of each.
func (f *classifier) classify() {
	claimed := exclusiveClaims(f.in.Snapshot)
	var known *kin
	for i := range f.in.Pods {
		d := &f.in.Pods[i]
		if last := i - 1; last < 0 || d.kinship() != f.in.Pods[last].kinship() {
			known = f.kinOf(d)
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
	}
}

func (f *classifier) refuse(pod int, reason string) {
	f.refusals = append(f.refusals, Refusal{pod, reason})
}

func (d *Pod) kinship() kinship { return kinship{d.Pod.Template, d.From != ""} }

func (f *classifier) kinOf(d *Pod) *kin {
	of := d.kinship()
	known := f.kin[of]
	if known == nil {
		known = &kin{}
		known.needs, known.miss = f.volumes.Needs(of.template, of.moving)
		f.kin[of] = known
	}
	return known
}

// classOf returns the class of the pod, made once.
func (f *classifier) classOf(d *Pod, of *kin) *Class {
	key := append(appendSignature(f.key[:0], d.Pod.Template, of.needs, f.keys), '\n')
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
	c.Places, c.Never = match.Places(t, needs.Places)
	switch {
	case t.Unsupported != "":
		c.Never = match.Miss{Kind: match.Unsupported, Want: t.Unsupported}
	case t.ResourceClaims:
		c.Never = match.Miss{Kind: match.Unsupported, Want: "the pod uses dynamic resource claims, which cannot be planned"}
	}
	return c
}

// labelKeys lists the pod labels that any selector looks at.
func labelKeys(snapshot *cluster.Snapshot) []string {
	keys := map[string]bool{}
	seen := map[*cluster.Template]bool{}
	var last *cluster.Template
	look := func(t *cluster.Template) {
		if t != last && !seen[t] {
			seen[t] = true
			collectLabelKeys(t, keys)
		}
		last = t
	}
	for i := range snapshot.Pods {
		look(snapshot.Pods[i].Template)
	}
	for i := range snapshot.DaemonSets {
		look(snapshot.DaemonSets[i].Template)
	}
	return slices.Sorted(maps.Keys(keys))
}

func collectLabelKeys(t *cluster.Template, keys map[string]bool) {
	add := func(selector *metav1.LabelSelector, more ...[]string) {
		if selector != nil {
			for key := range selector.MatchLabels {
				keys[key] = true
			}
			for _, e := range selector.MatchExpressions {
				keys[e.Key] = true
			}
		}
		for _, key := range slices.Concat(more...) {
			keys[key] = true
		}
	}
	for i := range t.Spread {
		add(t.Spread[i].LabelSelector, t.Spread[i].MatchLabelKeys)
	}
	for _, term := range PodTerms(t.Affinity) {
		add(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys)
	}
}

// PodTerm is a term of a pod's affinity or anti-affinity.
type PodTerm struct {
	*corev1.PodAffinityTerm
	Anti   bool
	Weight int32 // of a preference; 0 where the term is required
}

// PodTerms lists the terms of a pod's affinity and anti-affinity, those that are required
// and the preferences that weigh something.
func PodTerms(a *corev1.Affinity) []PodTerm {
	var out []PodTerm
	take := func(anti bool, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			out = append(out, PodTerm{PodAffinityTerm: &required[i], Anti: anti})
		}
		for i := range preferred {
			if p := &preferred[i]; p.Weight > 0 {
				out = append(out, PodTerm{PodAffinityTerm: &p.PodAffinityTerm, Anti: anti, Weight: p.Weight})
			}
		}
	}
	if a != nil && a.PodAffinity != nil {
		take(false, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a != nil && a.PodAntiAffinity != nil {
		take(true, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return out
}

// Required reports whether the term is no preference.
func (t PodTerm) Required() bool { return t.Weight == 0 }

// Text names a preference.
func (t PodTerm) Text() string {
	if t.Anti {
		return "preferred pod anti-affinity over " + t.TopologyKey
	}
	return "preferred pod affinity over " + t.TopologyKey
}
