package pack

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
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
	*class // of those that have no nodes of their own; nil until there is one
	needs  match.Needs
	miss   match.Miss
}

// classifier groups pods into classes.
type classifier struct {
	s       *solver
	keys    []string // pod labels that any selector looks at
	key     []byte   // scratch
	kin     map[kinship]*kin
	classes map[string]*class // by signature
	needs   map[*class]amount.List
}

// classify groups the pods into classes and returns what each class needs.
func (s *solver) classify() map[*class]amount.List {
	f := &classifier{s: s, keys: s.labelKeys(), kin: map[kinship]*kin{}, classes: map[string]*class{}, needs: map[*class]amount.List{}}
	claimed := s.exclusiveClaims()
	var known *kin
	for i := range s.problem.Pods {
		d := &s.problem.Pods[i]
		if last := i - 1; last < 0 || d.kinship() != s.problem.Pods[last].kinship() {
			known = f.kinOf(d)
		}
		if d.Refused != "" {
			s.places[i].Reason = d.Refused
			continue
		}
		if known.miss.Missed() {
			s.places[i].Reason = known.miss.String()
			continue
		}
		if len(d.Pod.Template.Claims) > 0 {
			if miss := claimed.take(d.Pod); miss.Missed() {
				s.places[i].Reason = miss.String()
				continue
			}
		}
		c := known.class
		if len(d.Nodes) > 0 {
			c = f.classOf(d, known)
		} else if c == nil {
			c = f.classOf(d, known)
			known.class = c
		}
		c.add(i, d)
	}
	return f.needs
}

func (d *Demand) kinship() kinship { return kinship{d.Pod.Template, d.From != ""} }

func (f *classifier) kinOf(d *Demand) *kin {
	of := d.kinship()
	known := f.kin[of]
	if known == nil {
		known = &kin{}
		known.needs, known.miss = f.s.volumes.Needs(of.template, of.moving)
		f.kin[of] = known
	}
	return known
}

// classOf returns the class of the pod, made once.
func (f *classifier) classOf(d *Demand, of *kin) *class {
	key := append(appendSignature(f.key[:0], d.Pod.Template, of.needs, f.keys), '\n')
	for _, name := range d.Nodes {
		key = append(append(key, name...), '\n')
	}
	f.key = key
	c := f.classes[string(key)]
	if c == nil {
		c = newClass(d.Pod.Template, of.needs, d.Nodes)
		c.account = f.s.effort.accounts[d.Pod.Template]
		f.classes[string(key)] = c
		f.needs[c] = d.Pod.Template.Requests
		f.s.classes = append(f.s.classes, c)
	}
	return c
}

func (c *class) add(i int, d *Demand) {
	c.pods, c.left = append(c.pods, i), c.left+1
	if d.Growing {
		c.growing++
	}
}

func newClass(t *cluster.Template, needs match.Needs, nodes []string) *class {
	c := &class{template: t, nodes: nodes, needs: needs, tolerates: tolerationKey(t.Tolerations), prefers: match.Preferences(t.Affinity)}
	c.places, c.never = match.Places(t, needs.Places)
	switch {
	case t.Unsupported != "":
		c.never = match.Miss{Kind: match.Unsupported, Want: t.Unsupported}
	case t.ResourceClaims:
		c.never = match.Miss{Kind: match.Unsupported, Want: "the pod uses dynamic resource claims, which cannot be planned"}
	}
	return c
}

// labelKeys lists the pod labels that any selector looks at.
func (s *solver) labelKeys() []string {
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
	for i := range s.problem.Snapshot.Pods {
		look(s.problem.Snapshot.Pods[i].Template)
	}
	for i := range s.problem.Snapshot.DaemonSets {
		look(s.problem.Snapshot.DaemonSets[i].Template)
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
	for _, term := range podTerms(t.Affinity) {
		add(term.LabelSelector, term.MatchLabelKeys, term.MismatchLabelKeys)
	}
}

// podTerm is a term of a pod's affinity or anti-affinity.
type podTerm struct {
	*corev1.PodAffinityTerm
	anti   bool
	weight int32 // of a preference; 0 where the term is required
}

func podTerms(a *corev1.Affinity) []podTerm {
	var out []podTerm
	take := func(anti bool, required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			out = append(out, podTerm{PodAffinityTerm: &required[i], anti: anti})
		}
		for i := range preferred {
			if p := &preferred[i]; p.Weight > 0 {
				out = append(out, podTerm{PodAffinityTerm: &p.PodAffinityTerm, anti: anti, weight: p.Weight})
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

func (t podTerm) required() bool { return t.weight == 0 }

// text names a preference.
func (t podTerm) text() string {
	if t.anti {
		return "preferred pod anti-affinity over " + t.TopologyKey
	}
	return "preferred pod affinity over " + t.TopologyKey
}
